"""Machines with contacts are drawn: bodies that stay rigid, forces where they act."""

from __future__ import annotations

import numpy as np
import pytest

import daesolve as ds
from daesolve.multibody.drawing import Arrow, Outline, evaluate, from_json
from daesolve.reporting import document, with_drawing

PROBLEMS = (
    "block",
    "rocking-block",
    "block-on-belt",
    "thrown-rod",
    "woodpecker",
    "newtons-cradle",
    "slider-crank-clearance",
)


def drawn(name, case=None, until=0.05, samples=6):
    bound = ds.problem(name).case(case)
    run = bound.solve(until=until, at=np.linspace(0.0, until, samples))
    return bound, run, document(run, bound.identity())


@pytest.mark.long_beyond(4)
@pytest.mark.slow
@pytest.mark.slow_rows("newtons-cradle", "slider-crank-clearance", "woodpecker")
@pytest.mark.parametrize("name", PROBLEMS)
def test_every_case_has_its_pictures(name):
    for case in ds.problem(name).cases:
        bound, _, told = drawn(name, case.name)
        stored = with_drawing(told, bound.problem.drawing)
        assert "drawing" in stored, stored["notes"]
        for figure in bound.problem.figures.values():
            assert figure(told).axes


def test_a_block_keeps_its_shape_and_its_forces_act_at_its_feet():
    bound, run, told = drawn("block", "tips", until=0.5)
    drawing = from_json(with_drawing(told, bound.problem.drawing)["drawing"])
    half, height = (bound.full_parameters[name] for name in ("half_width", "height"))
    series = {**run.states, **run.outputs, **run.reactions, **drawing.series}
    series = {name: np.array(values, dtype=float) for name, values in series.items()}
    for index in range(len(run.times)):
        placed = evaluate(drawing, series, bound.full_parameters, index)
        box = next(entry for entry in placed if isinstance(entry.shape, Outline))
        sides = np.linalg.norm(np.diff(box.points[:4], axis=0), axis=1)
        np.testing.assert_allclose(sides, [2 * half, 2 * height, 2 * half], atol=1e-14)
        arrows = [entry for entry in placed if isinstance(entry.shape, Arrow)]
        for arrow, corner in zip(arrows, box.points[:2], strict=True):
            np.testing.assert_allclose(arrow.points[0], corner, atol=1e-14)
