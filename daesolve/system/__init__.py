"""What is posed, checked row by row, and made one form of equations."""
