"""Side-by-side runs; tests run them on small tasks, and assert no times."""

import os

# What is prepared is paid for, unless a program says where it is kept.
os.environ.setdefault("DAESOLVE_CACHE", "off")
