"""Which contacts open, stick and slide, what impacts do, where they accumulate: as numbers."""
