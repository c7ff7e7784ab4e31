"""Side-by-side runs; tests run them on small tasks, and assert no times."""
