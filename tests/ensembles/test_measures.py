"""What is measured of the members of a sweep is written down, with the orders of its decrease."""

import math
from pathlib import Path

import pytest

import daesolve as ds
from daesolve.ensembles.sweep_results import dependence, local_orders
from daesolve.plugins.bound_case import BoundCase
from daesolve.plugins.family import Measure
from daesolve.reporting import write_measures


def _stiffened() -> ds.MechanicalSystem:
    q = ds.coordinates(x="m")
    p = ds.parameters(excess=(0.1, "N/m"), other=(1.0, "m"))
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=q.dot.x**2 / 2,
        potential=(1 + p.excess) * q.x**2 / 2,
        outputs={"small": (p.excess**2 * q.x, "m")},
        peaks=["small"],
    )


def _miss(case: BoundCase, run: ds.Trajectory) -> float:
    return abs(float(run.states["x"][-1]) - math.cos(run.end_time))


PROBLEM = ds.Problem(
    "stiffened",
    title="A spring that is too stiff",
    models={"spring": _stiffened},
    cases=[ds.Case("unit", start={"x": 1.0}, until=1.0)],
    measures={"miss": Measure(_miss, "m")},
)


def _swept(directory: Path, **over: list[float]) -> ds.ensembles.Sweep:
    return ds.sweep(PROBLEM.case(), over, out=directory, workers=0, solver=ds.Dop853())


@pytest.mark.slow
def test_a_measure_falls_with_the_order_that_it_has(tmp_path: Path) -> None:
    found = dependence(_swept(tmp_path / "s", excess=[1e-3, 1e-2, 1e-4]), PROBLEM.case())
    assert found is not None
    assert (found.over, found.unit, found.values) == ("excess", "N/m", (1e-2, 1e-3, 1e-4))
    measures = {measured.name: measured for measured in found.measures}
    # x = cos(t sqrt(1 + e)): the miss at t = 1 is e sin(1)/2 (1 + O(e)).
    assert measures["miss"].unit == "m"
    for value, order in zip(found.values, measures["miss"].orders, strict=False):
        assert order is not None
        assert abs(order - 1.0) < value
    assert measures["peak_small"].unit == "m"
    assert [round(order or 0.0, 9) for order in measures["peak_small"].orders] == [2.0, 2.0]


@pytest.mark.slow
def test_measures_need_no_samples_to_be_kept(tmp_path: Path) -> None:
    swept = _swept(tmp_path / "s", excess=[1e-2, 1e-3])
    assert swept.samples_to_pandas().empty
    assert {"measure_miss", "peak_small"} <= set(swept.to_pandas().columns)


@pytest.mark.slow
def test_orders_are_reported_over_one_number_alone(tmp_path: Path) -> None:
    two = _swept(tmp_path / "two", excess=[1e-2, 1e-3], other=[1.0, 2.0])
    assert dependence(two, PROBLEM.case()) is None
    one = _swept(tmp_path / "one", excess=[1e-2])
    assert dependence(one, PROBLEM.case()) is None


@pytest.mark.slow
def test_the_page_shows_each_value_and_order(tmp_path: Path) -> None:
    found = dependence(_swept(tmp_path / "s", excess=[1e-2, 1e-3]), PROBLEM.case())
    assert found is not None
    text = write_measures(tmp_path, found, "Misses & more").read_text("utf-8")
    assert "Misses &amp; more" in text
    assert "2.0000" in text
    assert "<svg" in text


def test_there_is_no_order_where_a_value_is_not_above_zero() -> None:
    assert local_orders([1.0, 0.1, 0.01], [1.0, 0.0, 1e-4]) == (None, None)


def test_no_order_is_fitted_to_rounding() -> None:
    orders = local_orders([0.1, 0.01, 0.001, 1e-4], [1e-2, 1e-4, 3e-17, 1e-16])
    assert orders[0] == pytest.approx(2.0, rel=1e-12)
    assert orders[1:] == (None, None)
