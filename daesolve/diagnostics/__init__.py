"""What is watched at every accepted step."""
