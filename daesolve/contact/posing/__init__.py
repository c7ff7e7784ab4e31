"""What users pose of contacts and guides, and what it adds to a system and to its equations."""
