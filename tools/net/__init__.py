"""Fingerprints of many runs, to see whether a change left every bit as it was.

    python -m tools.net record before.json
    python -m tools.net record after.json
    python -m tools.net compare before.json after.json

A fingerprint has short hashes of the bits of a result, and some of its numbers and sentences as
they are, by which a difference can be read. It holds nothing that differs from one recording to the
next: no times of computation, paths or versions. Bits depend on the processor and on the packages,
so that only files of one machine can be compared.
"""

import sys

from tools.net.surroundings import CHECKOUT

# Before what is installed: the library and the problems of one checkout belong together.
sys.path[:0] = [path for path in CHECKOUT if path not in sys.path[: len(CHECKOUT)]]
