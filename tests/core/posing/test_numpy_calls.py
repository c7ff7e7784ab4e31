"""NumPy's functions on symbols."""

import subprocess
import sys

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import SymbolError

q = ds.coordinates(x="m", y="m")
ARRAY = np.array([q.x, q.y])

KNOWN = {
    "clip": lambda x: np.clip(x, 0, 1),
    "abs": np.abs,
    "minimum": lambda x: np.minimum(x, 0.5),
    "maximum": lambda x: np.maximum(0.5, x),
    "where": lambda x: np.where(x > 0, x, 2 * x),
    "sign": np.sign,
    "sqrt": lambda x: np.sqrt(x**2 + 1),
    "hypot": lambda x: np.hypot(3.0, x),
    "arctan2": lambda x: np.arctan2(x, 2.0),
    "heaviside": lambda x: np.heaviside(x, 0.5),
    "interp": lambda x: np.interp(x, [-1, 0, 1], [0, 1, 0]),
    "select": lambda x: np.select([x > 0], [x], -x),
    "floor": np.floor,
    "sum": lambda x: np.sum([x, x]),
    "dot": lambda x: np.dot(x, x),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("symbol", [q.x, q.dot.x, ds.parameters(x=1.0).x, ds.time])
def test_functions_of_numpy_work_on_every_kind_of_symbol(symbol):
    wrong = []
    for name, function in KNOWN.items():
        number = ca.Function("f", [symbol], [function(symbol)])
        for value in (-0.7, 0.0, 0.3, 1.6):
            if not np.isclose(float(number(value)), float(function(value)), rtol=1e-14):
                wrong.append((name, value))
    assert wrong == []


def test_arrays_of_symbols_take_the_functions_of_their_elements():
    wrong = [
        name
        for name in ("abs", "sqrt", "sin", "exp", "floor", "hypot", "arctan2")
        for function in [getattr(np, name)]
        for found in [function(ARRAY, ARRAY) if function.nin == 2 else function(ARRAY)]
        if not isinstance(found[0], ca.SX)
    ]
    assert wrong == []


COMPARING = {
    "if": lambda: 1 if q.x > 0 else 0,
    "max": lambda: max(q.x, 0),
    "chain": lambda: 0 < q.x < 1,
    "and": lambda: q.x > 0 and q.y > 0,
    "clip": lambda: np.clip(ARRAY, 0, 1),
    "minimum": lambda: np.minimum(ARRAY, 0.0),
    "sign": lambda: np.sign(ARRAY),
    "where": lambda: np.where(ARRAY > 0, 1, 0),
}


def test_comparing_symbols_is_refused_with_what_to_write_instead():
    silent = []
    for name, ask in COMPARING.items():
        try:
            ask()
        except SymbolError as error:
            if all(word in str(error) for word in ("ca.if_else", "ca.fmin", "ca.vertcat")):
                continue
        silent.append(name)
    assert silent == []


@pytest.mark.parametrize(
    "function", [np.isfinite, np.isnan, np.sort, np.argmax, np.angle, np.unwrap]
)
def test_a_function_without_a_meaning_on_symbols_is_refused_by_its_name(function):
    with pytest.raises(SymbolError, match=rf"np.{function.__name__} does not work on symbols"):
        function(q.x)


def test_constants_keep_their_truth():
    assert ca.SX(1) > 0
    assert not ca.SX(0)


def test_a_mode_that_a_program_has_chosen_stays():
    if not hasattr(ca.GlobalOptions, "setNumpyMode"):
        pytest.skip("this CasADi has no modes")
    script = (
        "import casadi as ca; ca.GlobalOptions.setNumpyMode(1); import daesolve.core.posing;"
        "print(ca.GlobalOptions.getNumpyMode())"
    )
    assert subprocess.check_output([sys.executable, "-c", script], text=True).strip() == "1"
