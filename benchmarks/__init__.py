"""Side-by-side measurements; tests run them on small tasks and assert no times."""

import os

# Preparation counts as cost unless a program names a directory that keeps it.
os.environ.setdefault("DAESOLVE_CACHE", "off")
