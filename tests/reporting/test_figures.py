import numpy as np
import pytest
from matplotlib.figure import Figure

from daesolve.reporting import figures
from daesolve.reporting.facts import agreement, labels
from daesolve.reporting.sampling import Series, envelope, rate_name, resolved, turning_points
from daesolve.reporting.style import svg

ALL = [
    figures.positions,
    figures.velocities,
    figures.path,
    figures.drift,
    figures.energy,
    figures.reactions,
    figures.outputs,
]


@pytest.mark.parametrize("draw", ALL)
def test_draws_one_run_several_and_none(draw, told, told_measured, sparse):
    empty = {**told, "times": [], "drift_history": {}}
    for kind in ("states", "reactions", "outputs"):
        empty[kind] = {name: [] for name in told[kind]}
    for documents in ([told], [sparse], [told, told_measured, sparse], [empty], [told, empty]):
        figure = draw(documents)
        assert isinstance(figure, Figure)
        assert "<svg" in svg(figure, "one")


@pytest.mark.parametrize("draw", ALL)
def test_survives_values_that_are_not_finite(draw, told):
    told["states"]["x"] = [None] * len(told["times"])
    told["outputs"]["energy"][5] = None
    told["drift_history"]["rod"]["rms"] = [None] * len(told["drift_history"]["rod"]["times"])
    svg(draw([told]), "holes")


def test_the_same_figure_is_the_same_text(told):
    assert svg(figures.positions([told]), "a") == svg(figures.positions([told]), "a")


def test_figures_of_a_page_share_no_identifier(told):
    one, other = (svg(figures.positions([told]), name) for name in ("a", "b"))
    assert 'id="a-' in one
    assert 'id="a-' not in other


def test_axes_have_units(told):
    assert figures.positions([told]).axes[0].get_ylabel() == "m"
    assert figures.velocities([told]).axes[0].get_ylabel() == "m/s"
    assert figures.path([told]).axes[0].get_xlabel() == "x (m)"


def test_samples_too_sparse_are_not_joined(told, sparse):
    assert resolved(told)
    assert not resolved(sparse)
    assert len(figures.positions([told]).axes) == 1
    beginning = figures.positions([sparse]).axes[1]
    assert "not joined" in beginning.get_title(loc="left")


def test_sparse_samples_of_a_fast_oscillation_are_found():
    times = np.arange(1001.0)
    told = {
        "times": times.tolist(),
        "states": {
            "x": np.cos(6.3 * times).tolist(),
            "x_dot": (-6.3 * np.sin(6.3 * times)).tolist(),
        },
        "start_time": 0.0,
        "until": 1000.0,
    }
    assert turning_points(np.array(told["states"]["x"])) < 50
    assert not resolved(told)


def test_a_line_follows_the_motion_between_samples():
    times = np.linspace(0.0, 6.0, 20)
    joined, values = Series(times, np.sin(times), np.cos(times)).joined()
    assert len(joined) > 100
    np.testing.assert_allclose(values, np.sin(joined), atol=1e-4)


def test_envelope_holds_every_sample():
    times = np.linspace(0.0, 1.0, 5000)
    values = np.random.default_rng(1).normal(size=5000)
    edges, low, high = envelope(Series(times, values), 50)
    assert len(edges) == 51
    assert (low.min(), high.max()) == (values.min(), values.max())


def test_a_quantity_much_larger_than_others_has_a_panel_of_its_own(told):
    told["states"]["theta"] = [1e4 * time for time in told["times"]]
    told["states"]["phi"] = told["states"]["x"]
    told["units"] |= {"theta": "rad", "phi": "rad"}
    ylabels = [axes.get_ylabel() for axes in figures.positions([told]).axes]
    assert ylabels == ["m", "theta (rad)", "phi (rad)"]


def test_constants_are_not_magnified(told):
    told["outputs"]["normal"] = [9.81 + 1e-15 * (place % 2) for place in range(1001)]
    low, high = figures.outputs([told]).axes[0].get_ylim()
    assert high - low > 1.0


@pytest.mark.parametrize(
    ("name", "rate"),
    [("x", "x_dot"), ("theta_1", "theta_dot_1"), ("phi_1_12", "phi_dot_1_12")],
)
def test_names_of_velocities(name, rate):
    assert rate_name(name) == rate


def test_runs_are_named_by_what_differs(told, told_measured):
    assert labels([told, told_measured]) == ["rates 10, taylor", "rates 10, energy off, dop853"]
    assert labels([told, told]) == ["run 1", "run 2"]
    heavier = {**told, "parameters": {**told["parameters"], "mass": 2.0}}
    assert labels([told, heavier]) == ["mass 1", "mass 2"]


def test_many_runs_with_long_names_fit(told):
    runs = [
        {**told, "parameters": {f"a_long_parameter_name_{i}": 1.0 * k for i in range(12)}}
        for k in range(8)
    ]
    assert max(map(len, labels(runs))) < 100
    for draw in ALL:
        svg(draw(runs), "many")


def test_agreement_in_digits(told):
    told["verification"]["difference"] = {"x": 1e-9, "y": 0.0}
    assert agreement(told) == pytest.approx(9.0, abs=0.1)
    told["verification"]["difference"] = {"x": None, "y": 0.0}
    assert agreement(told) is None
