"""The instant at which the wheel with pendulum first ceases to press on the curve.

`rolling_wheel.pendulum_states` keeps the contact by force; a curve that only pushes lets go when
the normal reaction ``N = R . N = -R . n`` first passes through zero. Conventions as in
`rolling_geometry`. ``contact_loss.json`` holds the instants and states of `CASES`; to make it
again takes a few seconds:

    python -m tests.reference.contact_loss
"""

from __future__ import annotations

import json
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import heyoka as hy
import numpy as np

from .rolling_geometry import DEFAULT_PARAMETERS, RollingWheelParameters, centre_state, direction
from .rolling_wheel import pendulum_equations, pendulum_reactions
from .stored_pendulum import CASES as MOTIONS
from .stored_pendulum import HEAVY_BOB

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

TABLE: Final = Path(__file__).with_suffix(".json")
START: Final = MOTIONS["pendulum-lost"].start
CASES: Final = {"pendulum-lost": DEFAULT_PARAMETERS, "pendulum-lost-heavy-bob": HEAVY_BOB}


def normal_reaction(
    contact_x: ArrayLike,
    speed: ArrayLike,
    phi: ArrayLike,
    phi_dot: ArrayLike,
    parameters: RollingWheelParameters = DEFAULT_PARAMETERS,
) -> NDArray[np.float64]:
    """Push of the curve on the wheel with pendulum, N (arguments: `pendulum_reactions`)."""
    cosine, sine, _, _ = direction(contact_x, speed, parameters)
    force = pendulum_reactions(contact_x, speed, phi, phi_dot, parameters)
    return force["reaction_z"] * cosine - force["reaction_x"] * sine


@lru_cache(maxsize=4)
def _integrator(parameters: RollingWheelParameters) -> Any:
    """Taylor integrator in quadruple precision that stops where the normal reaction vanishes."""
    equations = pendulum_equations(parameters, hy.real128)
    loss = hy.t_event(equations.normal, fp_type=hy.real128, direction=hy.event_direction.negative)
    return hy.taylor_adaptive(
        equations.system,
        state=[hy.real128(0)] * 5,
        fp_type=hy.real128,
        compact_mode=True,
        t_events=[loss],
    )


def contact_loss(
    contact_x: float,
    speed: float,
    phi: float,
    phi_dot: float,
    parameters: RollingWheelParameters = DEFAULT_PARAMETERS,
    until: float = 10.0,
) -> dict[str, float] | None:
    """First loss of contact: its time and the state there, in quadruple precision.

    The root of the normal reaction is isolated in the Taylor polynomial of the step, so that no
    pair of roots within a step is missed.

    Parameters
    ----------
    contact_x, speed, phi, phi_dot
        Start (m, m/s, rad, rad/s); theta starts at 0.
    parameters
        Constants (bob_mass and pendulum_length must be positive).
    until
        How far to look, s. A second of motion takes about 0.3 s of computing.

    Returns
    -------
    dict or None
        time (s) and what `rolling_wheel.pendulum_states` gives; None if contact lasts.

    Raises
    ------
    ValueError
        If the curve does not push on the wheel at the start.
    """
    start = (contact_x, speed, phi, phi_dot)
    push = float(normal_reaction(*start, parameters))
    if push <= 0:
        msg = f"there is no contact to lose: the normal reaction is {push:.3g} N at the start"
        raise ValueError(msg)
    integrator = _integrator(parameters)
    integrator.time = hy.real128(0)
    integrator.reset_cooldowns()
    integrator.state[:] = [hy.real128(float(value)) for value in (*start, 0.0)]
    outcome = integrator.propagate_until(hy.real128(float(until)))[0]
    if outcome == hy.taylor_outcome.time_limit:
        return None
    if int(outcome) != -1:  # -1: stopped by event 0
        msg = f"heyoka stopped at t = {float(integrator.time)} s: {outcome}"
        raise RuntimeError(msg)
    abscissa, velocity, angle, rate, theta = integrator.state.astype(float)
    state = centre_state(np.array(abscissa), np.array(velocity), np.array(theta), parameters)
    wheel = {name: float(value) for name, value in state.items()}
    return {"time": float(integrator.time), **wheel, "phi": float(angle), "phi_dot": float(rate)}


def contact_loss_time(
    contact_x: float,
    speed: float,
    phi: float,
    phi_dot: float,
    parameters: RollingWheelParameters = DEFAULT_PARAMETERS,
    until: float = 10.0,
) -> float | None:
    """Time of the first loss of contact in s, None if there is none (see `contact_loss`)."""
    loss = contact_loss(contact_x, speed, phi, phi_dot, parameters, until)
    return None if loss is None else loss["time"]


@cache
def _table() -> dict[str, dict[str, float]]:
    return json.loads(TABLE.read_text())


def stored_contact_loss(case: str) -> dict[str, float]:
    """What `contact_loss` returns for `START` and the constants of one of `CASES`."""
    return dict(_table()[case])


def make_table() -> None:
    """Integrate all the cases and write the table."""
    table = {name: contact_loss(*START, parameters=p) for name, p in CASES.items()}
    TABLE.write_text(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    make_table()
