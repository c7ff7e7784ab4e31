"""Systems: what users pose, checked row by row, and brought into one form of equations."""
