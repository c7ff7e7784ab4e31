"""The parts of a run: its segments, what they record, and how they end."""
