"""What is posed: named symbols, goals, events, supports of guides."""
