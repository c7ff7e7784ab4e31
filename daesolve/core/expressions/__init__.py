"""Linear algebra on expressions and numbers, and translation of expressions to other engines."""
