"""What constraints ask of a state: consistent states, their rank, and redundant ones."""
