"""What a run gives: the trajectory, its files, and how it shows itself."""
