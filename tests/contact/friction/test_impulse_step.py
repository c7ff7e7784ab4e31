from functools import cache

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from daesolve.contact.friction.impulse_equations import StepEquations
from daesolve.contact.friction.impulse_step import ImpulseStep, take_step
from daesolve.errors import BranchLost, UnphysicalVariant
from tests.reference.prisms import Prism

from .stepped_bodies import GENTLE, prism

SIDES = ("upper", "lower")
ROUNDING = 1e-11
"""What Newton's method and 1e-8 of the smoothing leave, over the momenta of a step."""


@cache
def prism_equations() -> StepEquations:
    return StepEquations(prism(GENTLE))


def step_of(body: Prism, speed: float, length: float) -> ImpulseStep:
    values = {
        "mass": body.mass,
        "force_x": body.force_x,
        "force_y": body.force_y,
        "moment": body.moment,
    }
    for pair in (1, 2):
        for place, side in enumerate(SIDES):
            values[f"{side}_a_{pair}"] = body.along[pair - 1, place]
            values[f"{side}_b_{pair}"] = body.height[pair - 1, place]
            values[f"{side}_friction_{pair}"] = body.friction[pair - 1, place]
    equations = prism_equations()
    equations.numbers = equations.dynamics.value_vector(values)
    state = np.array([0.0, 0.0, 0.0, speed, 0.0, 0.0])
    return take_step(equations.balance(0.0, state, length))


def slides(body: Prism, slip: int) -> Prism:
    return Prism(
        body.along, body.height, body.friction, slip, body.force_x, body.force_y, body.moment
    )


def numbers(low: float, high: float, count: int) -> st.SearchStrategy[np.ndarray]:
    return st.lists(st.floats(low, high), min_size=count, max_size=count).map(np.array)


@st.composite
def prisms(draw: st.DrawFn) -> Prism:
    return Prism(
        along=np.array([[-1.0], [1.0]]) * draw(numbers(0.1, 1.0, 4)).reshape(2, 2),
        height=np.array([1.0, -1.0]) * draw(numbers(0.1, 2.0, 4)).reshape(2, 2),
        friction=draw(numbers(0.0, 1.0, 4)).reshape(2, 2),
        slip=1,
        force_x=draw(st.floats(-5.0, 5.0)),
        force_y=draw(st.floats(-20.0, 20.0)),
        moment=draw(st.floats(-20.0, 20.0)),
    )


AT_ITS_LIMIT = Prism(
    along=np.array([[-1.0, -1.0], [1.0, 1.0]]),
    height=np.array([[1.0, -1.0], [1.0, -1.0]]),
    friction=np.array([[0.0, 0.0], [1.0, 0.0]]),
    slip=1,
    force_x=1.0,
    force_y=0.0,
    moment=1.0,
)
"""Pushed as hard as its one support that rubs can hold; the other one is frictionless."""

UNLOADED = Prism(
    along=np.array([[-0.1, -0.1], [0.69050762, 0.1]]),
    height=np.array([[1.17049178, -1.27734397], [0.1, -1.25244818]]),
    friction=np.array([[0.5, 0.5], [0.75772513, 0.79068259]]),
    slip=1,
    force_x=-2.7,
    force_y=0.0,
    moment=0.0,
)
"""Nothing presses on its supports; loaded ever so little, some of them would be divergent."""


@pytest.mark.slow
@example(body=UNLOADED, speed=1.7, length=1e-1)
@example(body=AT_ITS_LIMIT, speed=0.0, length=1e-3)
@settings(derandomize=True, max_examples=30, deadline=None)
@given(body=prisms(), speed=st.floats(-5.0, 5.0), length=st.sampled_from([1e-3, 1e-2, 1e-1]))
def test_a_step_obeys_dry_friction_whether_the_prism_slides_or_rests(body, speed, length):
    try:
        step = step_of(body, speed, length)
    except (BranchLost, UnphysicalVariant):
        # Painleve's paradox: no supports can be loaded while it slides on. Where the determinant is
        # zero, reactions are infinite, which is no answer.
        answers = slides(body, int(np.sign(speed))).answers().values()
        assert not any(np.all(np.isfinite(reactions)) for reactions in answers)
        return
    ahead, impulses = step.velocities[0], step.normal
    size = body.mass * abs(speed) + np.abs(impulses).sum() + length * abs(body.force_x)
    loaded = np.where(impulses > 0.0, 1, 0)
    pairs = np.arange(2)
    friction = body.friction[pairs, loaded]
    assert np.abs(step.velocities[1:]).max() <= ROUNDING * (1.0 + abs(ahead))
    if np.all(step.slipping):
        body = slides(body, int(np.sign(ahead)))
        variant = (int(loaded[0]) + 1, int(loaded[1]) + 1)
        assert impulses == pytest.approx(
            length * body.reactions(variant), rel=1e-9, abs=ROUNDING * size
        )
        gained = length * body.acceleration(variant)
        assert body.mass * (ahead - speed - gained) == pytest.approx(0.0, abs=ROUNDING * size)
    else:
        assert not step.slipping.any()
        assert ahead == 0.0
        along, _, turning = step.friction
        assert along == pytest.approx(
            -body.mass * speed - length * body.force_x, abs=ROUNDING * size
        )
        heights = body.height[pairs, loaded]
        # 1e-8 beyond the limit is rest still: so far the smoothing tells.
        limit = friction * np.abs(impulses) * (1.0 + 1e-7) + ROUNDING * size
        if abs(heights[0] - heights[1]) > 0.01:
            shares = np.linalg.solve([[1.0, 1.0], -heights], [along, turning])
            assert np.all(np.abs(shares) <= limit * (1.0 + 1.0 / abs(heights[0] - heights[1])))
        else:
            assert abs(along) <= limit.sum()
        lifted = impulses.sum() + length * body.force_y
        turned = body.along[pairs, loaded] @ impulses + length * body.moment + turning
        assert [lifted, turned] == pytest.approx([0.0, 0.0], abs=3.0 * ROUNDING * size)
