"""What is drawn as a rigid body keeps its lengths, wherever the motion takes it."""

import numpy as np
import pytest

import daesolve as ds
from daesolve.multibody.drawing import Line, evaluate, from_json
from daesolve.reporting import document, with_drawing

LINES = {"pendulum": 1, "slider-crank": 2, "four-bar": 4, "andrews": 5}
UNTIL = {"pendulum": 1.0, "slider-crank": 1.0, "four-bar": 0.5, "andrews": 0.02}


@pytest.mark.slow_rows("four-bar")
@pytest.mark.parametrize("name", LINES)
def test_rods_keep_their_lengths(name):
    case = ds.problem(name).case()
    run = case.solve(until=UNTIL[name], at=np.linspace(0.0, UNTIL[name], 5))
    stored = with_drawing(document(run, case.identity()), case.problem.drawing)
    drawing = from_json(stored["drawing"])
    lengths = []
    for index in range(5):
        placed = evaluate(drawing, run.states, case.full_parameters, index)
        bodies = [s for s in placed if isinstance(s.shape, Line) and _is_body(s.shape)]
        assert len(bodies) == LINES[name]
        sides = [np.linalg.norm(np.diff(body.points, axis=0), axis=1) for body in bodies]
        lengths.append(np.concatenate(sides))
    assert np.min(lengths) > 0
    assert np.max(np.ptp(lengths, axis=0)) < 1e-12 * np.max(lengths)


def _is_body(line: Line) -> bool:
    return line.role in ("body", "accent")
