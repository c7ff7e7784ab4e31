"""Certified runs: sets that contain the true motion, step by step, through events."""
