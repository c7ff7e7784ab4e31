"""The values of the mode in which contacts open, stick and slide as was decided."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from daesolve.contact import State
from daesolve.errors import ResetError
from daesolve.modes.rubbing_instant import ContactNumbers, Instant

PARALLEL = 1e-9
"""Of its own square, what is left of a row that others give: then it repeats them."""
SHARE = 1e-7
"""Of a row, the part of another one that counts in it."""
SIGNS = {State.FORWARD: 1.0, State.BACKWARD: -1.0}

States = tuple[State, ...]


def of_all(instant: Instant, states: States) -> Mapping[int, State]:
    """Return the states of the contacts that touch, by their index."""
    return dict(zip(instant.which.tolist(), states, strict=True))


def in_states(
    numbers: ContactNumbers, instant: Instant, p: np.ndarray, states: Mapping[int, State]
) -> np.ndarray:
    """Return p with contacts in these states; of those that stick, as many as are independent.

    Raises
    ------
    ResetError
        Reactions are not determined.
    """
    p = p.copy()
    p[numbers.holds], p[numbers.slides], p[numbers.sticks] = 0.0, 0.0, 0.0
    p[list(numbers.shares.values())] = 0.0
    stuck: list[int] = []
    for contact, state in states.items():
        p[numbers.holds[contact]] = float(state is not State.OPEN)
        rubbing = numbers.rubbing[contact]
        if rubbing is not None:
            p[rubbing.slides] = SIGNS.get(state, 0.0)
            stuck += [contact] if state is State.STICKS else []
    count, places = len(instant.which), {k: n for n, k in enumerate(instant.which.tolist())}
    matrix, kept, owners = instant.contacts.matrix, list[int](), dict[int, int]()
    for contact, state in states.items():
        if state is not State.OPEN:
            if _shares(matrix, kept, places[contact]) is not None:
                raise _undetermined(instant, "reaction", numbers.names[contact])
            kept.append(places[contact])
    for contact in stuck:
        row = count + places[contact]
        shares = _shares(matrix, kept, row)
        if shares is None:
            owners[row] = contact
            kept.append(row)
            rubbing = numbers.rubbing[contact]
            assert rubbing is not None
            p[rubbing.sticks] = 1.0
            continue
        bearing = [owners.get(k, -1) for k, share in zip(kept, shares, strict=True) if share]
        if len(bearing) != 1 or bearing[0] < 0:
            raise _undetermined(instant, "friction", numbers.names[contact])
        p[numbers.shares[bearing[0], contact]] = 1.0
    return p


def _shares(matrix: np.ndarray, kept: list[int], row: int) -> list[float] | None:
    """Return how a row is combined of others; None where it is not."""
    if not kept:
        return None
    shares = np.linalg.solve(matrix[np.ix_(kept, kept)], matrix[kept, row])
    left = matrix[row, row] - matrix[row, kept] @ shares
    if left > PARALLEL * matrix[row, row]:
        return None
    return [float(share) if abs(share) > SHARE else 0.0 for share in shares]


def _undetermined(instant: Instant, what: str, name: str) -> ResetError:
    return ResetError(
        f"at t = {instant.time:.10g} s the {what} of the contact {name!r} is not determined: it "
        "depends on the reactions of other contacts that are closed"
    )
