"""What a run monitors at every accepted step."""
