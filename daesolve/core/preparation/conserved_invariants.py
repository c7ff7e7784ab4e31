"""Which invariants are conserved: refuted at sample states, proved, or assumed and then watched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from daesolve.core.equations.conservation import (
    POWER_TOLERANCE,
    is_ideal,
    is_proved,
    relative_powers,
)
from daesolve.core.equations.dynamics import Dynamics, InvariantRow
from daesolve.core.equations.rank import Samples
from daesolve.core.formulations import OdeProblem
from daesolve.errors import PosingError

TELLING = 3
"""Sample states below which they do not show that reactions do no work."""
WATCHED_TO = 1e-10
"""The largest rate of an invariant that is assumed to be conserved, as a fraction of its largest
terms."""
ABOVE_SAMPLES = 10.0
"""Or this many times its rounding at sample states, if that is more."""


def conserved_invariants(
    dynamics: Dynamics, samples: Samples, values: Mapping[str, float], notes: list[str]
) -> dict[str, bool]:
    """Return which invariants no sample state refutes, the power of reactions included.

    Parameters
    ----------
    dynamics, samples, values
        The equations, consistent states, and p by name.
    notes
        Receives notes about what is not conserved.

    Raises
    ------
    PosingError
        An invariant should be driven, but is not conserved.
    """
    conserved: dict[str, bool] = {}
    numbers = dynamics.value_vector(values)
    few = len(samples) < TELLING and not is_ideal(dynamics, {})
    powers = _powers(dynamics, [row for row in dynamics.invariants if not row.doubt], samples,
                     numbers, values)  # fmt: skip
    for row in dynamics.invariants:
        doubt = row.doubt
        if row.automatic and few and not doubt:
            doubt = "reactions may do work, and almost no consistent state was found to check this"
        if doubt:
            conserved[row.name] = False
            notes.append(
                f"{row.name} may not be conserved, because {doubt}: its power is integrated as "
                "work, and it is not driven"
            )
            continue
        power = powers[row.name]
        conserved[row.name] = power <= POWER_TOLERANCE
        if conserved[row.name]:
            if row.automatic and row.note:
                notes.append(f"{row.name} is conserved: {row.note}")
            continue
        if row.automatic:
            notes.append(
                f"{row.name} is not conserved (relative power {power:.2g} at sample states): "
                "its power is integrated as work, and it is not driven"
            )
        elif row.drive:
            raise PosingError(
                f"the invariant {row.name!r} cannot be driven, because it is not conserved: "
                f"its rate is {power:.2g} of its terms at a sample state; set drive=False"
            )
        else:
            notes.append(f"{row.name} is not conserved (relative rate {power:.2g})")
    return conserved


def _powers(
    dynamics: Dynamics,
    rows: Sequence[InvariantRow],
    samples: Samples,
    numbers: np.ndarray,
    values: Mapping[str, float],
) -> dict[str, float]:
    """Return the relative rates of invariants; in other modes too where one has no proof.

    A reaction of a goal that is released does no work yet, nor does friction that sticks.
    """
    names = [row.name for row in rows]
    powers = dict(zip(names, relative_powers(dynamics, rows, samples, numbers), strict=True))
    others = [dynamics.all_held(numbers), dynamics.in_motion(numbers)]
    others = [mode for mode in others if not np.array_equal(mode, numbers)]
    for row in rows if others else ():
        if not row.automatic or powers[row.name] > POWER_TOLERANCE:
            continue
        if not is_proved(dynamics, row, values):
            for mode in others:
                (power,) = relative_powers(dynamics, [row], samples, mode)
                powers[row.name] = max(powers[row.name], power)
    return {name: float(power) for name, power in powers.items()}


def assumed_invariants(
    dynamics: Dynamics,
    problem: OdeProblem,
    samples: Samples,
    values: Mapping[str, float],
    notes: list[str],
) -> dict[str, float]:
    """Return the driven invariants without a proof, with the limits of their relative rates.

    Parameters
    ----------
    dynamics, problem
        The equations, and what is integrated, which drives some of their invariants.
    samples, values
        Consistent states, and p by name.
    notes
        Receives notes about them.
    """
    driven = {entry.goal for entry in problem.watched if entry.kind == "invariant" and entry.driven}
    numbers = dynamics.value_vector({n: values[n] for n in dynamics.values})
    rows = [
        row
        for row in dynamics.invariants
        if row.name in driven and not row.by_relation and not is_proved(dynamics, row, values)
    ]
    assumed: dict[str, float] = {}
    for row, power in zip(rows, relative_powers(dynamics, rows, samples, numbers), strict=True):
        assumed[row.name] = max(WATCHED_TO, ABOVE_SAMPLES * float(power))
        notes.append(
            f"{row.name} is assumed to be conserved: its rate is zero at sample states, and "
            "every step checks it"
        )
    return assumed
