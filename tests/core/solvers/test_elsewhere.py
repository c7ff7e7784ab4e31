"""The names that other packages give to solvers lead to ours."""

import pytest

import daesolve as ds
from daesolve.core.solvers import SOLVERS
from daesolve.core.solvers.elsewhere import ELSEWHERE, usual_name
from daesolve.errors import UnknownNameError

KNOWN = {
    "RK45": "dop853", "ode45": "dop853", "DOP853": "dop853", "RKF45": "dop853", "Tsit5": "dop853",
    "Radau": "radau", "RADAU5": "radau", "BDF": "cvodes", "CVODE": "cvodes", "ode15s": "cvodes",
    "LSODA": "lsoda", "odeint": "lsoda", "IDA": "idas", "DASSL": "idas", "heyoka": "taylor",
}  # fmt: skip


def test_each_name_leads_to_a_solver_of_the_library_and_is_none_itself():
    assert set(ELSEWHERE) <= set(SOLVERS)
    assert {name: usual_name(name) for name in KNOWN} == KNOWN
    named = [word for words in ELSEWHERE.values() for word in words.split()]
    assert not set(named) & set(SOLVERS)
    assert usual_name("cv-ode_BDF") == "cvodes"
    assert usual_name("no such solver") is None


@pytest.mark.parametrize("name", ["RK45", "Radau", "ode15s"])
def test_a_solver_of_another_package_names_ours_of_its_kind(name):
    q = ds.coordinates(x="m")
    free = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2)
    with pytest.raises(UnknownNameError, match=f"unknown solver '{name}': .* {KNOWN[name]!r}"):
        ds.solve(free, 1.0, {"x": 0.0}, solver=name)
    with pytest.raises(UnknownNameError, match=KNOWN[name]):
        ds.compare(free, ["feedback"], [name], until=1.0, initial={"x": 0.0})
