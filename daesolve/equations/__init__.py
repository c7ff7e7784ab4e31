"""What is posed, row by row: how a system's parts become its dynamics."""
