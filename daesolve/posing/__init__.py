"""What users pose: named symbols, goals, events, supports of guides."""
