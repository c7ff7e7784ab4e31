"""What monitors watch at every accepted step, one file for each thing watched."""
