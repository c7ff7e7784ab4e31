"""What decisions on the contacts of a problem evaluate."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import casadi as ca
import numpy as np

from daesolve.contact.laws.resting import is_timed
from daesolve.contact.laws.rubbing_instant import ContactNumbers, DecisionState
from daesolve.core.events.jumps import with_references
from daesolve.core.events.law import Setting
from daesolve.core.expressions.evaluation import Evaluator
from daesolve.core.formulations import OdeProblem
from daesolve.core.posing.symbols import symbol


class ContactFunctions:
    """The contacts of a problem, its motion, and the values to which it refers."""

    def __init__(self, setting: Setting) -> None:
        dynamics, problem = setting.dynamics, setting.problem
        self.numbers = ContactNumbers(dynamics)
        self.rate = Evaluator(problem.rhs)
        self.timed = is_timed(dynamics)
        t, x, p = dynamics.t, dynamics.x, dynamics.p
        works = symbol("works", problem.size - x.numel())
        values = with_references(dynamics, t, x, p, works)
        self._references = Evaluator(ca.Function("references", [t, x, works, p], [values]))

    def later(self, place: DecisionState, p: np.ndarray, step: float) -> DecisionState:
        """Return the place a step later in the mode of p, s."""
        whole = stepped(self.rate, place.time, place.whole, p, step)
        return place.later(step, whole, p)

    def referred(self, place: DecisionState, p: np.ndarray) -> np.ndarray:
        """Return values with the references of the motion that begins here."""
        return np.array(self._references(place.time, place.x, place.works, p)[0])


def functions_of(setting: Setting) -> ContactFunctions:
    """Return those of a problem, which are built once."""
    if setting.problem not in _functions:
        _functions[setting.problem] = ContactFunctions(setting)
    return _functions[setting.problem]


_functions: WeakKeyDictionary[OdeProblem, ContactFunctions] = WeakKeyDictionary()


def stepped(rate: Evaluator, time: float, x: np.ndarray, p: np.ndarray, step: float) -> np.ndarray:
    """Return the state a step later, by the classical method of order 4."""

    def slope(part: float, state: np.ndarray) -> np.ndarray:
        return np.array(rate(time + part * step, state, p)[0])

    first = slope(0.0, x)
    second = slope(0.5, x + 0.5 * step * first)
    third = slope(0.5, x + 0.5 * step * second)
    fourth = slope(1.0, x + step * third)
    return x + step / 6.0 * (first + 2.0 * second + 2.0 * third + fourth)
