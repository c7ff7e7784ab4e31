"""The run: segments, events, samples, and how it ends."""
