"""Stored quadruple-precision motions of the wheel with pendulum, for tests of long spans.

``stored_pendulum.json`` holds what `rolling_wheel.pendulum_states` gives; to make it again takes
about ten minutes:

    python -m tests.reference.stored_pendulum
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from .rolling_wheel import DEFAULT_PARAMETERS, RollingWheelParameters, pendulum_states

if TYPE_CHECKING:
    from numpy.typing import NDArray

TABLE: Final = Path(__file__).with_suffix(".json")

# A bob that is a hoop or a ring of its own, J = m l^2 ("kJ = 1").
HEAVY_BOB: Final = replace(
    DEFAULT_PARAMETERS,
    bob_inertia=DEFAULT_PARAMETERS.bob_mass * DEFAULT_PARAMETERS.pendulum_length**2,
)


@dataclass(frozen=True, slots=True)
class StoredCase:
    """A start (contact_x m, speed m/s, phi rad, phi_dot rad/s), constants and times in s."""

    start: tuple[float, float, float, float]
    times: tuple[float, ...]
    parameters: RollingWheelParameters = DEFAULT_PARAMETERS


REGULAR_TIMES: Final = (0.0, 1.0, 10.0, 100.0, 1000.0, 1800.0)
LOST_TIMES: Final = (0.0, 1.0, 2.0, 5.0, 7.0)  # before contact is lost
CHAOTIC_TIMES: Final = (0.0, 1.0, 2.0, 5.0, 10.0, 20.0)

CASES: Final = {
    "pendulum": StoredCase((0.0, 1.5, 0.0, 0.0), REGULAR_TIMES),
    "pendulum-from-rest": StoredCase((-0.9, 0.0, 0.0, 0.0), REGULAR_TIMES),
    "pendulum-lost": StoredCase((-0.9, 0.0, 2.5, 0.0), LOST_TIMES),
    "pendulum-chaotic": StoredCase((0.2, 0.0, 2.9, 0.0), CHAOTIC_TIMES),
    "pendulum-heavy-bob": StoredCase((0.0, 1.5, 0.0, 0.0), REGULAR_TIMES, HEAVY_BOB),
    "pendulum-from-rest-heavy-bob": StoredCase((-0.9, 0.0, 0.0, 0.0), REGULAR_TIMES, HEAVY_BOB),
}


@cache
def _table() -> dict[str, dict[str, list[float]]]:
    return json.loads(TABLE.read_text())


def stored_states(case: str) -> dict[str, NDArray[np.float64]]:
    """Arrays as `rolling_wheel.pendulum_states` returns them, and ``times``, of one of `CASES`."""
    return {name: np.array(values) for name, values in _table()[case].items()}


def make_table() -> None:
    """Integrate all the cases and write the table."""
    table = {}
    for name, case in CASES.items():
        states = pendulum_states(case.times, *case.start, parameters=case.parameters)
        table[name] = {"times": list(case.times)} | {k: v.tolist() for k, v in states.items()}
    TABLE.write_text(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    make_table()
