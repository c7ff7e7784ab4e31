"""Orders of convergence: slopes, errors from a time on, and the figure."""

import numpy as np
import pytest
from daesolve_problems.orders import Orders, largest_difference, measured_orders, slope
from hypothesis import given, settings
from hypothesis import strategies as st

import daesolve as ds
from daesolve.errors import OutOfRangeError

TIMES = np.linspace(0.0, 1.0, 11)
VALUES = (0.1, 0.05, 0.025)


def drifting(disturbance, stops=False):
    """Pose x' = disturbance(eps), which ends when x passes 1/20 if it stops."""
    x, p = ds.states(x=""), ds.parameters(eps=(0.1, "", ds.POSITIVE))
    event = ds.Event("passed", x.x - 0.05, ds.RISING, ds.Stop())
    return ds.ControlSystem(x, {"x": disturbance(p.eps)}, p, events=[event] if stops else [])


problem = ds.Problem(
    "constant",
    title="A quantity that stays as it is",
    models={
        "full": lambda: drifting(lambda eps: 0.0 * eps),
        "first": lambda: drifting(lambda eps: 2.0 * eps),
        "second": lambda: drifting(lambda eps: eps**2),
        "stops": lambda: drifting(lambda eps: eps, stops=True),
    },
    cases=[ds.Case("rest", until=1.0, start={"x": 0.0})],
)


def measured(*models, **options):
    return measured_orders(problem.case(), models, {"x": ["x"]}, "eps", VALUES, at=TIMES, **options)


@given(
    order=st.floats(-3.0, 5.0),
    size=st.floats(1e-6, 1e6),
    values=st.lists(st.sampled_from([2.0**-k for k in range(12)]), min_size=2, unique=True),
)
@settings(derandomize=True, max_examples=30, deadline=None)
def test_the_slope_is_the_power(order, size, values):
    errors = [size * value**order for value in values]
    assert slope(values, errors) == pytest.approx(order, abs=1e-10)


def test_errors_of_known_powers_have_these_orders():
    found = measured("first", "second")
    assert found.errors["first x"] == pytest.approx([2.0 * eps for eps in VALUES], rel=1e-13)
    assert found.errors["second x"] == pytest.approx([eps**2 for eps in VALUES], rel=1e-13)
    assert found.slopes == pytest.approx({"first x": 1.0, "second x": 2.0}, abs=1e-12)
    assert found.described()["eps"] == list(VALUES)
    assert found.described()["slopes"] == found.slopes


def test_errors_count_from_a_time_on():
    """x = 0.2 t - 0.2 has its largest error at the start, and 0.06 at 0.7 s."""
    still = problem.case().solve(1.0, at=TIMES)
    back = problem.case(model="first").solve(1.0, at=TIMES, initial={"x": -0.2})
    assert largest_difference(back, still, ["x"]) == pytest.approx(0.2)
    assert largest_difference(back, still, ["x"], 0.65) == pytest.approx(0.06)


def test_the_time_from_which_errors_count_may_depend_on_the_parameter():
    asked = []

    def since(eps):
        asked.append(eps)
        return 0.0

    measured("first", since=since)
    assert asked == list(VALUES)


def test_a_run_that_ends_early_is_no_measurement():
    with pytest.raises(OutOfRangeError, match=r"'stops' does not reach its end at eps = 0\.1"):
        measured("stops")


@pytest.mark.parametrize(
    ("values", "errors", "why"),
    [
        ([0.1], [1.0], "two or more different values"),
        ([0.1, 0.1], [1.0, 1.0], "two or more different values"),
        ([0.1, 0.2], [1.0], "two or more different values"),
        ([0.1, 0.2], [1.0, 0.0], "positive"),
        ([0.1, -0.2], [1.0, 1.0], "positive"),
    ],
)
def test_a_slope_that_has_no_meaning_is_refused(values, errors, why):
    with pytest.raises(OutOfRangeError, match=why):
        slope(values, errors)


def test_the_figure_shows_each_curve_and_the_slopes_one_and_two():
    found = Orders("eps", (0.04, 0.01), {"first": (0.4, 0.1), "second": (0.16, 0.01)})
    (axes,) = found.figure().axes
    first, second, *guides = axes.lines
    assert [first.get_label(), second.get_label()] == ["first (1.00)", "second (2.00)"]
    np.testing.assert_array_equal(second.get_ydata(), [0.16, 0.01])
    for power, guide in enumerate(guides, start=1):
        assert slope(guide.get_xdata(), guide.get_ydata()) == pytest.approx(power)
    assert len(guides) == 2
