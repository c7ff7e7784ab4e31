"""What contacts and guides do at an instant, and in the modes between: one law in each file."""
