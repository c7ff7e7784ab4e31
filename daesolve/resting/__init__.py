"""Rest: whether a body begins to slide, and how it stops."""

from daesolve.resting.coming_to_rest import Piece, Rest, RestStatus, Switch, come_to_rest
from daesolve.resting.scaled_time import SlidingMotion
from daesolve.resting.stiction import Stiction, StictionLimit, stiction, stiction_limit

__all__ = [
    "Piece",
    "Rest",
    "RestStatus",
    "SlidingMotion",
    "Stiction",
    "StictionLimit",
    "Switch",
    "come_to_rest",
    "stiction",
    "stiction_limit",
]
