"""How far rest is possible: the largest load that tractions within the cones of friction balance.

A body can rest where reactions N_k >= 0 and tractions within their cones balance the load. The
largest such load is the optimum of a convex programme, whose multipliers are velocities v that may
leave the guides. They are those of a motion in which each loaded support k recedes from its guide
as it slips,

    w_k . v = 0,   w_k = n_k + f_k tau_k(v),

and the tractions oppose the slips of v. In true sliding they oppose the slips of velocities that
the guides allow. Both are the same where all loaded supports lie at one height, for there lifting
adds the same slip to all. Elsewhere a body may slide under loads under which it could rest as well.
"""

from __future__ import annotations

import numpy as np

from daesolve.errors import VariantError
from daesolve.friction.direction_flow import Branch, RestingBody, Supported

SAME = 1e-13
"""Change of a velocity, of unit length, with which the slips agree with how the body lifts."""
MOST_ROUNDS = 100


class YieldingBody(RestingBody):
    """The same body, with the slips of the velocities that the guides would have to yield to.

    The growth of its directions is positive where rest is not possible, and its zero over a load
    is the optimum of the convex programme.

    Parameters
    ----------
    body
        At rest.
    """

    def __init__(self, body: RestingBody) -> None:
        self.at, self.mass = self._yielding, body.mass
        self.basis, self.lifting = body.basis, body.lifting
        self._body, self._branch = body, Branch()
        self._lift = np.zeros(self.lifting.shape[1])

    def _yielding(self, velocities: np.ndarray) -> Supported:
        velocities = velocities / np.sqrt(velocities @ self.mass @ velocities)
        for _ in range(MOST_ROUNDS):
            here = self._body.at(velocities + self.lifting @ self._lift)
            answer = self._branch.answer(here.complementarity)
            loaded = np.where(answer.signs > 0, here.second, here.first).T @ self.mass
            before = self._lift
            self._lift = -np.linalg.solve(loaded @ self.lifting, loaded @ velocities)
            if np.linalg.norm(self._lift - before) <= SAME:
                return here
        raise VariantError(
            "no velocities were found with which the loaded supports recede from their guides as "
            "they slip: friction is too large for its height over the base"
        )
