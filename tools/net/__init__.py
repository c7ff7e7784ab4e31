"""Fingerprints of many runs, which show whether a change left every bit unchanged.

    python -m tools.net record before.json
    python -m tools.net record after.json
    python -m tools.net compare before.json after.json

A fingerprint contains short hashes of the bits of a result, and some of its numbers and sentences
in full, so that a reader can interpret a difference. It contains nothing that changes from one
recording to the next: no computing times, paths or versions. Bits depend on the processor and on
the packages, so compare only files from one machine.
"""

import sys

from tools.net.surroundings import CHECKOUT

# Precedes installed copies: library and problems must come from one checkout.
sys.path[:0] = [path for path in CHECKOUT if path not in sys.path[: len(CHECKOUT)]]
