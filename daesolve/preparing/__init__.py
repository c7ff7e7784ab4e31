"""What is asked for, and every choice that is made before a run begins."""
