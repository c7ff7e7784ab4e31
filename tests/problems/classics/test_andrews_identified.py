"""The spring and the motor of Andrews' mechanism are found from two angles."""

import matplotlib.pyplot as plt
import pytest
from daesolve_problems.classics.andrews_identified import TRUTH, identified, problem


@pytest.mark.slow
def test_both_unknowns_are_found_with_and_without_noise():
    case = problem.case()
    answer = case.analyse("identification")
    for name, truth in TRUTH.items():
        found = answer.values[name]
        assert abs(found["from_exact_rows"] / truth - 1.0) < 1e-10
        low, high = found["interval"]
        assert low < truth < high
    assert answer.values["segments"] > 1
    run = case.solve()
    figure = identified({"times": run.times, "states": dict(run.states)})
    assert [len(axes.lines) for axes in figure.axes] == [3, 3, 2]
    plt.close(figure)
