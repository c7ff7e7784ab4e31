"""Side-by-side runs; nothing here is asserted in tests."""
