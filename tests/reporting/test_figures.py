import re
from contextlib import nullcontext

import numpy as np
import pytest
from matplotlib.figure import Figure

from daesolve.core.results.trajectory.curves import Series, rate_name, turning_points
from daesolve.reporting import figures
from daesolve.reporting.facts import agreement, labels
from daesolve.reporting.figures.accuracy import largest_unaccounted, terms, unaccounted
from daesolve.reporting.figures.panels import ROWS
from daesolve.reporting.figures.style import in_a_column, svg
from daesolve.reporting.sampling import MOST_EVENTS, envelope, resolved, tally


def drawn(draw, documents):
    """What a rule draws, as a list of figures."""
    made = draw(documents)
    return made if isinstance(made, list) else [made]


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


@pytest.mark.long_rows("drift")
@pytest.mark.slow_rows("energy", "path", "positions", "reactions", "velocities")
@pytest.mark.parametrize("draw", ALL)
def test_draws_one_run_several_and_none(draw, told, told_measured, sparse):
    empty = {**told, "times": [], "drift_history": {}}
    for kind in ("states", "reactions", "outputs"):
        empty[kind] = {name: [] for name in told[kind]}
    for documents in ([told], [sparse], [told, told_measured, sparse], [empty], [told, empty]):
        for figure in drawn(draw, documents):
            assert isinstance(figure, Figure)
            assert "<svg" in svg(figure, "one")


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("draw", ALL)
def test_survives_values_that_are_not_finite(draw, told):
    told["states"]["x"] = [None] * len(told["times"])
    told["outputs"]["energy"][5] = None
    told["drift_history"]["rod"]["rms"] = [None] * len(told["drift_history"]["rod"]["times"])
    for figure in drawn(draw, [told]):
        svg(figure, "holes")


def test_the_same_figure_is_the_same_text(told):
    one, again = (figures.positions([told])[0] for _ in range(2))
    assert svg(one, "a") == svg(again, "a")


def test_figures_of_a_page_share_no_identifier(told):
    one, other = (svg(figures.positions([told])[0], name) for name in ("a", "b"))
    assert 'id="a-' in one
    assert 'id="a-' not in other


def test_axes_have_units(told):
    assert figures.positions([told])[0].axes[0].get_ylabel() == "m"
    assert figures.velocities([told])[0].axes[0].get_ylabel() == "m/s"
    assert figures.path([told]).axes[0].get_xlabel() == "x (m)"


def test_samples_too_sparse_are_not_joined(told, sparse):
    assert resolved(told)
    assert not resolved(sparse)
    assert len(figures.positions([told])[0].axes) == 1
    whole, portrait = figures.positions([sparse])[0].axes
    assert not whole.lines, "a range is no line"
    for name, line in zip(("x", "y"), portrait.lines, strict=True):
        assert line.get_linestyle() == "None"
        np.testing.assert_array_equal(line.get_xdata(), sparse["states"][name])
        np.testing.assert_array_equal(line.get_ydata(), sparse["states"][f"{name}_dot"])


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
    ylabels = [axes.get_ylabel() for axes in figures.positions([told])[0].axes]
    assert ylabels == ["m", "theta (rad)", "phi (rad)"]


def test_constants_are_not_magnified(told):
    told["outputs"]["normal"] = [9.81 + 1e-15 * (place % 2) for place in range(1001)]
    low, high = figures.outputs([told])[0].axes[0].get_ylim()
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


@pytest.mark.long
def test_many_runs_with_long_names_fit(told):
    runs = [
        {**told, "parameters": {f"a_long_parameter_name_{i}": 1.0 * k for i in range(12)}}
        for k in range(8)
    ]
    assert max(map(len, labels(runs))) < 100
    for draw in ALL:
        for figure in drawn(draw, runs):
            svg(figure, "many")


def test_agreement_in_digits(told):
    told["verification"]["difference"] = {"x": 1e-9, "y": 0.0}
    assert agreement(told) == pytest.approx(9.0, abs=0.1)
    told["verification"]["difference"] = {"x": None, "y": 0.0}
    assert agreement(told) is None


def test_what_does_not_move_but_by_rounding_does_not_spoil_the_agreement(told):
    told["units"] = {"x": "m", "still": "rad"}
    told["states"] = {"x": [0.0, 1.0], "still": [0.0, 3e-17]}
    told["verification"]["difference"] = {"x": 1e-14, "still": 3e-17}
    assert agreement(told) == pytest.approx(14.0, abs=0.1)


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
    left, between, right = figures.events([with_impacts(told, 1000)]).axes
    [count] = left.lines
    assert (count.get_ydata()[0], count.get_ydata()[-1]) == (0, 1000)
    assert np.interp(1.5, *count.get_data()) == pytest.approx(500, abs=1)
    gaps = between.lines[0].get_ydata()
    assert np.isnan(gaps[0]), "before the first there was none"
    np.testing.assert_allclose(gaps[1:], 3.0 / 1000, rtol=1e-9)
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
    panels = figures.positions([told])[0].axes
    shown = [[text.get_text() for text in axes.get_legend().get_texts()] for axes in panels]
    assert shown == [["x", "y"], *([f"{letter}_{k}" for k in (1, 2, 3)] for letter in "pqr")]


@pytest.mark.slow
def test_many_goals_with_long_names_leave_room_for_their_curves(told):
    entry, history = told["drift"]["rod"], told["drift_history"]["rod"]
    for name in [f"a_constraint_of_some_length_{i}_{j}" for i in (1, 2, 3) for j in range(1, 6)]:
        told["drift"][name], told["drift_history"][name] = entry, history
    figure = figures.drift([told])
    figure.draw_without_rendering()
    for axes in figure.axes:
        assert axes.get_position().width > 0.3


@pytest.mark.long_beyond(2)
@pytest.mark.slow
@pytest.mark.parametrize(("size", "named"), [(0.0, True), (None, False), (1e-16, False)])
def test_residuals_that_are_always_zero_are_named_and_take_no_panel(told, size, named):
    entry, count = told["drift"]["rod"], len(told["drift_history"]["rod"]["times"])
    times = told["drift_history"]["rod"]["times"]
    for number in range(8):
        told["drift"][f"extra_{number}"] = entry
        told["drift_history"][f"extra_{number}"] = {"times": times, "rms": [size] * count}
    before = len(told["drift"]) - 8
    for narrow in (False, True):
        with in_a_column() if narrow else nullcontext():
            figure = figures.drift([told])
        figure.draw_without_rendering()
        words = figure.get_supxlabel()
        assert ("always 0: extra_0, extra_1, extra_2, extra_3 and 4 more" in words) is named
        shown = [text for axes in figure.axes for text in axes.get_legend_handles_labels()[1]]
        assert ("extra_0" in shown) is not named
        assert len(shown) == before + 8 * (not named)


@pytest.mark.default_rows(1)
@pytest.mark.slow_rows("0.001-1000.0")
@pytest.mark.parametrize(("first", "last"), [(0.5, 1.0), (0.4, 6.0), (0.001, 1000.0)])
def test_a_few_numbers_stand_below_times(told, first, last):
    times = np.geomspace(first, last, 9).tolist()
    told["drift_history"] = {"rod": {"times": times, "rms": [1e-16] * 9}}
    told["end_time"] = last
    axes = figures.drift([told]).axes[0]
    axes.figure.draw_without_rendering()
    low, high = axes.get_xlim()
    seen = [text for text in axes.get_xticklabels(which="both") if text.get_text()]
    shown = [text for text in seen if low <= text.get_position()[0] <= high]
    assert 2 <= len(shown) <= 7


def test_what_stays_where_it_is_has_no_path(told):
    assert figures.plane([told]) == ("x", "y")
    for name in "xy":
        told["states"][name] = [1e-17 * place for place in range(len(told["times"]))]
    assert figures.plane([told]) is None


def test_a_thinned_run_shows_its_beginning(told, sparse):
    kinds = ("states", "reactions", "outputs")
    first = {kind: {n: v[:300] for n, v in told[kind].items()} for kind in kinds}
    sparse["opening"] = {"times": told["times"][:300], **first}
    beginning, whole = figures.positions([sparse])[0].axes
    assert not whole.lines, "a range is no line"
    for name, line in zip(("x", "y"), beginning.lines, strict=True):
        times = np.asarray(line.get_xdata())
        assert np.diff(times).max() < 0.0031
        assert times[-1] == told["times"][299]
        values = np.interp(times, told["times"], told["states"][name])
        np.testing.assert_allclose(line.get_ydata(), values, atol=1e-4)


def test_the_path_of_sparse_samples_shows_the_beginning_as_a_line(told, sparse):
    kinds = ("states", "reactions", "outputs")
    first = {kind: {n: v[:300] for n, v in told[kind].items()} for kind in kinds}
    (axes,) = figures.path([sparse]).axes
    assert not [line for line in axes.lines if line.get_linestyle() == "-"]
    sparse["opening"] = {"times": told["times"][:300], **first}
    (axes,) = figures.path([sparse]).axes
    (line,) = [line for line in axes.lines if line.get_linestyle() == "-"]
    # The rod has a length of 1 m, and a cubic through close samples keeps it.
    np.testing.assert_allclose(np.hypot(*line.get_data()), 1.0, atol=1e-4)
    assert line.get_label() == f"the first {told['times'][299]:.3g} s"
    assert "samples" in axes.lines[0].get_label()


@pytest.mark.slow
def test_long_figures_are_split_into_sheets(told):
    for number in range(11):
        name = f"load{number}"
        told["reactions"][name] = [10.0 ** (2 * number) * x for x in told["states"]["x"]]
        told["units"][name] = "N"
    sheets = figures.reactions([told])
    assert len(sheets) == 3
    assert max(len(sheet.axes) for sheet in sheets) <= ROWS


def test_rounding_is_drawn_with_what_becomes_of_it(told):
    told["statistics"]["steps"], told["end_time"] = 10_000, 3.0
    axes = figures.drift([told]).axes[0]
    level, brouwer, linear = axes.lines[-3:]
    assert brouwer.get_ydata()[-1] == pytest.approx(100 * level.get_ydata()[0], rel=1e-9)
    assert linear.get_ydata()[-1] == pytest.approx(10_000 * level.get_ydata()[0], rel=1e-9)


def test_the_energy_balance_counts_work_and_impacts(told):
    times = np.array(told["times"])
    told = with_impacts(told, 10)
    for event in told["events"]:
        event["impact"] |= {"kinetic_before": 2.0, "kinetic_after": 1.5}
    lost = 0.5 * np.searchsorted([event["time"] for event in told["events"]], times)
    told["outputs"] = {"work": (0.1 * times).tolist(), "energy": (5 + 0.1 * times - lost).tolist()}
    left = unaccounted(terms(told))
    np.testing.assert_allclose(left.values, 0.0, atol=1e-14)
    assert largest_unaccounted(told) < 1e-14
    upper, lower = figures.energy([told]).axes
    names = [text.get_text() for text in upper.get_legend().get_texts()]
    assert names == ["energy", "work", "lost in impacts"]
    assert lower.get_ylabel() == "E − E₀ − work\n+ lost in impacts (J)"


@pytest.mark.parametrize("count", [1, 2001, 50_000])
def test_of_many_events_few_are_kept_and_all_are_counted(count):
    events = ({"time": 0.5 * k, "name": "tick"} for k in range(count))
    [entry] = tally(events, []).named.values()
    numbers, times, gaps, _ = entry.table
    assert entry.count == count
    assert len(entry.rows) <= MOST_EVENTS
    np.testing.assert_array_equal(times, 0.5 * (numbers - 1))
    assert (gaps[1:] == 0.5).all()


def test_dots_are_small_in_the_page_and_lie_where_they_did(told):
    figure = Figure(figsize=(4, 3))
    figure.add_subplot().plot(range(100), "o", markeredgewidth=0)
    text = svg(figure, "dots")
    dots = re.findall(r'<use href="[^"]*" x="([\d.]+)" y="([\d.]+)"/>', text)
    assert len(dots) == 100
    assert len(set(np.diff([float(x) for x, _ in dots]).round(1))) <= 2, "evenly spaced"
