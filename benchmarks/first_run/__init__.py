"""What the first run on a machine costs, and the first in a process."""
