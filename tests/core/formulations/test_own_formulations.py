"""Formulations of one's own: their settings shape what is built, and what they lack is named."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.core.formulations import Elimination, OdeProblem, controlled
from daesolve.errors import PosingError
from tests.systems import oscillator


@dataclass(frozen=True)
class Slowed(ds.Formulation):
    """x'' = -x / slowness: a setting that stands in the functions."""

    slowness: Any = 1.0
    name = "slowed"

    def chosen_rates(self, dynamics, default):
        return {row.name: None for row in dynamics.invariants}

    def problem(self, elimination: Elimination) -> OdeProblem:
        slowed = replace(
            elimination.dynamics, force=elimination.dynamics.force / float(np.mean(self.slowness))
        )
        return controlled(replace(elimination, dynamics=slowed), [])


@dataclass(frozen=True)
class Numbered(Slowed):
    """The same with a setting that is said to be a value of p, whatever it is."""

    weight: Any = None
    name = "numbered"
    parameters_of_functions = ("weight",)


@dataclass(frozen=True)
class Forgetful(ds.Feedback):
    """Feedback without the work integrals."""

    name = "forgetful"

    def problem(self, elimination: Elimination) -> OdeProblem:
        dynamics, base = elimination.dynamics, super().problem(elimination)
        count = dynamics.x.numel()
        x = ca.SX.sym("x", base.size)
        t, p = base.rhs.sx_in(0), base.rhs.sx_in(2)
        rhs = ca.Function("rhs", [t, x, p], [base.rhs(t, x, p)[:count]])
        return replace(base, rhs=rhs)


class Plain(ds.Feedback):
    """A setting beside the fields of the dataclass."""

    name = "plain"

    def __init__(self, gain):
        super().__init__()
        object.__setattr__(self, "gain", gain)


def end(formulation):
    return ds.solve(
        SYSTEM, 2.0, {"x": 0.0, "x_dot": 1.0}, formulation=formulation, solver=ds.Dop853()
    ).end_state["x"]


SYSTEM = oscillator()


@pytest.mark.slow
def test_two_settings_in_one_process_give_two_motions_each_right():
    """x = s sin(t / s) with s^2 the slowness."""
    for slowness in (1.0, 4.0, 1.0, 9, 4):
        s = np.sqrt(slowness)
        assert end(Slowed(slowness)) == pytest.approx(s * np.sin(2.0 / s), abs=1e-9)


def test_settings_that_are_equal_as_numbers_only_are_different_ones():
    assert Slowed(1).shape != Slowed(1.0).shape != Slowed(True).shape
    assert Slowed(1.0).shape == Slowed(1.0).shape
    assert ds.Feedback(rate=3.0).shape == ds.Feedback(rates={"energy": 2.0}).shape
    assert ds.Viscous(1e-3).shape != ds.Viscous(1e-4).shape
    assert ds.Regularised(1e-3).shape == ds.Regularised(1e-4).shape  # its speed is a value of p
    assert ds.Projected(Slowed(1.0)).shape != ds.Projected(Slowed(2.0)).shape


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("slowness", [[4.0], np.array([4.0]), {"a": 4.0}])
def test_a_setting_that_may_change_is_refused_with_what_would_be_right(slowness):
    with pytest.raises(PosingError, match="the setting 'slowness' of the formulation 'slowed'"):
        end(Slowed(slowness))
    assert end(Slowed((4.0,))) == pytest.approx(2.0 * np.sin(1.0), abs=1e-9)
    assert end(Numbered(4.0, weight=slowness)) == pytest.approx(2.0 * np.sin(1.0), abs=1e-9)


def test_a_setting_beside_the_fields_is_refused():
    with pytest.raises(PosingError, match=r"Plain must be a frozen dataclass.*make 'gain' fields"):
        end(Plain(3.0))


def test_a_formulation_that_forgets_the_work_learns_what_is_missing():
    q = ds.coordinates(x="m")
    damped = ds.MechanicalSystem(
        q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2, force={"x": -0.1 * q.dot.x}
    )
    words = "'forgetful' builds a wrong problem.*work integrals 'work_energy' are missing"
    with pytest.raises(PosingError, match=words) as caught:
        ds.solve(damped, 1.0, {"x": 1.0, "x_dot": 0.0}, formulation=Forgetful())
    assert "\n" not in str(caught.value)


def test_work_is_metered_with_a_formulation_of_ones_own():
    q = ds.coordinates(x="m")
    damped = ds.MechanicalSystem(
        q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2, force={"x": -0.1 * q.dot.x}
    )
    run = ds.solve(damped, 5.0, {"x": 1.0, "x_dot": 0.0}, formulation=Slowed())
    energy = (run["x"] ** 2 + run["x_dot"] ** 2) / 2
    assert run["work"][-1] == pytest.approx(energy[-1] - 0.5, abs=1e-12)
    assert run.drift["energy"].max_relative < 1e-12
