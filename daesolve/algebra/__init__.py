"""Linear algebra on expressions and numbers, and expressions carried over to another engine."""
