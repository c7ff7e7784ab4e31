"""Events of contacts at one instant: their order, and the one that has the impact."""

import casadi as ca
import numpy as np
import pytest

import daesolve as ds


def test_a_rope_that_pulls_a_block_off_the_ground_closes_before_the_ground_is_lost() -> None:
    # The ground is declared first; what closes has caused the impact, and is recorded with it.
    q = ds.coordinates(x="m", y="m")
    ground = ds.Contact("ground", q.y, slip=q.dot.x, friction=0.3)
    wound = 5.5 - 2.0 * ca.sin(ca.pi * ds.time / 20) ** 2
    rope = ds.Contact("rope", wound - ca.sqrt(q.x**2 + (q.y - 5.0) ** 2), closed=False)
    block = ds.MechanicalSystem(
        q,
        kinetic=50.0 * (q.dot.x**2 + q.dot.y**2) / 2,
        potential=50.0 * 9.81 * q.y,
        goals=[ground, rope],
    )
    run = ds.solve(block, 1.7, {"x": 2.0, "y": 0.0, "x_dot": 0.0, "y_dot": 0.0})
    closed, lost = run.events
    assert (closed.name, lost.name) == ("rope_closed", "ground_lost")
    assert closed.time == lost.time
    # Along the rope the block takes the speed of the winch; nothing else pulls.
    far = np.hypot(2.0, 5.0)
    taut = 20 / np.pi * np.arcsin(np.sqrt((5.5 - far) / 2.0))
    assert closed.time == pytest.approx(taut, rel=1e-14)
    impulse = 50.0 * np.pi / 10 * np.sin(np.pi * taut / 10)
    assert closed.impact is not None
    assert lost.impact is None
    assert closed.impact.impulses["rope"] == pytest.approx(impulse, rel=1e-13)
    (note,) = [text for text in run.description["notes"] if "Carnot" in text]
    assert note.startswith(f"1 impact added {impulse**2 / 100.0:.6g} J;")
