"""A problem's cases: what is chosen by name, bound to values, and analysed."""
