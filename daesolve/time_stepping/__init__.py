"""Time stepping by impulses, without events."""
