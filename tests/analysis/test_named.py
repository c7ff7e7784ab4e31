"""Whatever gives values by name tells the nearest names where one is missing."""

from __future__ import annotations

import pytest

import daesolve as ds
from daesolve.errors import Named, UnknownNameError, suggest_names
from tests.systems import pendulum

RELEASE = {"x": -1.0}


@pytest.fixture(scope="module")
def system():
    return pendulum()


@pytest.fixture(scope="module")
def found(system, tmp_path_factory):
    """What each analysis of a pendulum gives."""
    rest = {"y": -1.0}
    swing = {"x": 1.0}
    return {
        "stored": ds.solve(system, 0.3, RELEASE, store=tmp_path_factory.mktemp("run") / "run"),
        "consistent": ds.consistent_state(system, {"x": 0.6, "y": -0.7, "x_dot": 1.0}),
        "linear": ds.analysis.linearize(system, rest),
        "section": ds.analysis.sections(system, system.coordinates.x, 1.0, RELEASE),
        "sensitivity": ds.analysis.sensitivity(system, 0.3, swing, by=["gravity"]),
        "quadruple": ds.analysis.reference_run(system, 0.01, RELEASE),
        "compared": ds.compare(system, ["feedback"], ["dop853"], 0.3, RELEASE).runs[0],
    }


PLACES = {
    "stored states": (lambda f: f["stored"].states["xx"], "state 'xx': did you mean 'x'"),
    "stored reactions": (lambda f: f["stored"].reactions["rodd"], "reaction 'rodd': did you mean"),
    "stored outputs": (lambda f: f["stored"].outputs["enrgy"], "output 'enrgy': did you mean"),
    "stored drift": (lambda f: f["stored"].drift["enrgy"], "'enrgy': did you mean 'energy'"),
    "a consistent state": (lambda f: f["consistent"].state["xx"], "state 'xx': did you mean 'x'"),
    "its accelerations": (lambda f: f["consistent"].accelerations["x_dott"], "velocity 'x_dott'"),
    "its reactions": (lambda f: f["consistent"].reactions["rodd"], "reaction 'rodd'"),
    "its residuals": (lambda f: f["consistent"].residuals["rodd"], "residual 'rodd'"),
    "its changes": (lambda f: f["consistent"].changes["yy"], "changed value 'yy'"),
    "modes": (lambda f: f["linear"].modes["xx"], "state 'xx'"),
    "an equilibrium": (lambda f: f["linear"].state["xx"], "state 'xx': did you mean 'x'"),
    "its rates": (lambda f: f["linear"].rates["xx"], "state 'xx': did you mean 'x'"),
    "a section": (lambda f: f["section"].states["xx"], "state 'xx': did you mean 'x'"),
    "the end of a derivative": (lambda f: f["sensitivity"].end_time["gravty"], "mean 'gravity'"),
    "the states in quadruple precision": (lambda f: f["quadruple"]["xx"], "state 'xx': did you"),
    "their residuals": (lambda f: f["quadruple"].residuals["rodd"], "residual 'rodd'"),
    "a difference": (lambda f: f["compared"].difference.by_state["xx"], "state 'xx': did you"),
}  # fmt: skip


@pytest.mark.slow_rows("stored states")
@pytest.mark.parametrize("place", PLACES)
def test_a_name_that_is_missing_is_reported_with_the_nearest_ones(found, place):
    index, words = PLACES[place]
    with pytest.raises(UnknownNameError) as caught:
        index(found)
    assert isinstance(caught.value, KeyError)
    assert words in str(caught.value)


def test_series_on_disk_are_a_mapping_as_ever(found):
    states = found["stored"].states
    assert states.get("wrong") is None
    assert "wrong" not in states
    assert "x" in states
    assert list(states) == ["x", "y", "x_dot", "y_dot"]


def test_steps_of_moreau_tell_their_pairs():
    case = ds.problem("prism").case()
    states, direction = case.guess()
    steps = ds.friction.moreau(
        case.system, {**states, **direction}, 0.01, 1e-3, parameters=case.values
    )
    for mapping, name in (
        (steps.states, "x_dott"),
        (steps.end_state, "x_dott"),
        (steps.reactions, "none"),
        (steps.impulses, "none"),
        (steps.loaded, "none"),
        (steps.slipping, "none"),
    ):
        with pytest.raises(UnknownNameError, match=f"unknown (state|support) '{name}'"):
            mapping[name]


def test_other_mappings_and_nothing_stay_what_they_are():
    class Owner:
        held = None
        named = Named({"a": 1}, "letter")

    suggest_names(Owner(), held="state", named="state")
    assert Owner.held is None
    assert Owner().named.kind == "letter"
    assert dict(Owner().named) == {"a": 1}
