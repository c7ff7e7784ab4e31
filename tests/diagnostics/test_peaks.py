"""The largest magnitudes of outputs are those over every accepted step."""

from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import PosingError, UnknownNameError
from daesolve.trajectory.results import Peak


def _oscillator(**further: object) -> ds.MechanicalSystem:
    q = ds.coordinates(x="m")
    return ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2,
        potential=q.x**2 / 2,
        outputs={"spike": (ca.exp(-(((q.x - 0.6) / 1e-2) ** 2)), "m"), "still": q.x * 0},
        **further,  # pyright: ignore[reportArgumentType]
    )


@pytest.mark.parametrize("solver", [ds.Taylor(), ds.Dop853(rtol=1e-12, atol=1e-12)])
def test_a_peak_is_taken_at_a_step_and_not_at_a_sample(solver: ds.Solver) -> None:
    q = ds.coordinates(x="m")
    system = ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2,
        potential=q.x**2 / 2,
        outputs={"squared": (-(q.x**2), "m^2")},
        peaks=["squared"],
    )
    run = ds.solve(system, until=10.0, initial={"x_dot": 1.0}, at=[10.0], solver=solver)
    peak = run.peaks["squared"]
    assert peak.value == pytest.approx(-(np.sin(peak.time) ** 2), abs=1e-11)
    assert abs(peak.value) > abs(run.outputs["squared"][-1])


def test_a_step_that_lands_on_a_peak_of_no_width_tells_it() -> None:
    passed = _oscillator(peaks=["spike", "still"])
    run = ds.solve(passed, until=3.0, initial={"x_dot": 1.0}, solver=ds.Dop853(fixed_step=1e-3))
    # Steps are 0.8e-3 m long there, the spike falls by the square of half of that over its width.
    assert run.peaks["spike"].value == pytest.approx(1.0, abs=0.04**2 * 1.1)
    assert np.sin(run.peaks["spike"].time) == pytest.approx(0.6, abs=1e-3)
    assert run.peaks["still"] == Peak(0.0, 0.0)


def test_an_output_that_is_no_number_at_any_step_has_no_peak() -> None:
    q = ds.coordinates(x="m")
    system = ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 / 2,
        potential=q.x**2 / 2,
        outputs={"never": ca.log(-1 - q.x**2), "at_times": ca.log(q.x)},
        peaks=["never", "at_times"],
    )
    run = ds.solve(system, until=10.0, initial={"x": 1.0}, solver=ds.Dop853(fixed_step=0.1))
    assert np.isnan(run.peaks["never"].value)
    assert np.isnan(run.peaks["never"].time)
    assert np.isfinite(run.peaks["at_times"].value)


def test_peaks_are_outputs() -> None:
    with pytest.raises(UnknownNameError, match="spoke"):
        _oscillator(peaks=["spoke"])
    with pytest.raises(PosingError, match="list of outputs"):
        _oscillator(peaks="spike")


def test_a_stored_run_keeps_its_peaks(tmp_path: Path) -> None:
    system = _oscillator(peaks=["spike"])
    options: dict[str, Any] = {"initial": {"x_dot": 1.0}, "solver": ds.Dop853(fixed_step=1e-3)}
    whole = ds.solve(system, until=6.0, **options)
    stored = ds.solve(system, until=6.0, store=tmp_path / "run", **options)
    assert stored.peaks == whole.peaks
    assert ds.Trajectory.from_run(tmp_path / "run").peaks == whole.peaks
