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
    figures.events,
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


def with_impacts(told, count):
    impacts = [
        {
            "time": 3.0 * (place + 0.5) / count,
            "name": "knock",
            "detail": {},
            "impact": {"kinetic_before": 1.0, "kinetic_after": 1.0 - 0.1 * (place % 2)},
        }
        for place in range(count)
    ]
    return {**told, "events": impacts, "event_count": count}


def test_events_are_counted_and_their_losses_shown(told):
    left, right = figures.events([with_impacts(told, 1000)]).axes
    [count] = left.lines
    assert (count.get_ydata()[0], count.get_ydata()[-1]) == (0, 1000)
    assert np.interp(1.5, *count.get_data()) == pytest.approx(500, abs=1)
    [lost] = right.lines
    assert len(lost.get_xdata()) == 500, "those that took nothing are not on a logarithmic axis"
    np.testing.assert_allclose(lost.get_ydata(), 0.1)


def test_events_of_several_runs_share_axes(told, told_measured):
    runs = [with_impacts(told, 10), with_impacts(told_measured, 20)]
    left = figures.events(runs).axes[0]
    assert [line.get_ydata()[-1] for line in left.lines] == [10, 20]


def test_numbered_states_stay_among_themselves_where_there_are_many(told):
    names = [f"{letter}_{number}" for number in (1, 2, 3) for letter in ("p", "q", "r")]
    for name in names:
        told["states"][name] = told["states"]["x"]
        told["units"][name] = "m"
    panels = figures.positions([told]).axes
    shown = [[text.get_text() for text in axes.get_legend().get_texts()] for axes in panels]
    assert shown == [["x", "y"], *([f"{letter}_{k}" for k in (1, 2, 3)] for letter in "pqr")]


def test_many_goals_with_long_names_leave_room_for_their_curves(told):
    entry, history = told["drift"]["rod"], told["drift_history"]["rod"]
    for name in [f"a_constraint_of_some_length_{i}_{j}" for i in (1, 2, 3) for j in range(1, 6)]:
        told["drift"][name], told["drift_history"][name] = entry, history
    figure = figures.drift([told])
    figure.draw_without_rendering()
    for axes in figure.axes:
        assert axes.get_position().width > 0.3


def test_what_stays_where_it_is_has_no_path(told):
    assert figures.plane([told]) == ("x", "y")
    for name in "xy":
        told["states"][name] = [1e-17 * place for place in range(len(told["times"]))]
    assert figures.plane([told]) is None
