"""Solvers by the names that they have in SciPy, MATLAB, SUNDIALS, Julia and other packages."""

from __future__ import annotations

import re
from typing import Any

ELSEWHERE: dict[str, str] = {
    # explicit Runge-Kutta methods
    "dop853": (
        "RK4 RK23 RK45 RKF45 RK78 RKF78 RKDP RKCK DOP853 DOPRI DOPRI5 DOPRI853 ode23 ode45 ode78 "
        "ode89 Tsit5 Dopri8 BS3 BS5 DP5 DP8 Vern6 Vern7 Vern8 Vern9 Cash-Karp Dormand-Prince "
        "Fehlberg Runge-Kutta Bogacki-Shampine solve_ivp ARKODE ERK"
    ),
    # implicit Runge-Kutta and Rosenbrock methods
    "radau": (
        "Radau Radau5 RadauIIA RadauIIA5 RadauIIA3 ode23s ode23t ode23tb Rosenbrock23 Rodas Rodas4 "
        "Rodas5 Rodas5P TRBDF2 KenCarp4 Kvaerno5 SDIRK ESDIRK RosenbrockW trapezoid"
    ),
    # multistep methods
    "cvodes": "CVODE CVODES BDF NDF Gear QNDF FBDF CVODE_BDF ode15s VODE ZVODE DVODE LSODE DLSODE",
    "lsoda": (
        "LSODA LSODAR DLSODA odeint ode113 Adams CVODE_Adams VCABM AB5 Adams-Bashforth "
        "Adams-Moulton"
    ),
    # differential-algebraic equations
    "idas": "IDA IDAS DASSL DASKR DASPK DDASSL DFBDF ode15i solve_dae",
    "assimulo-odassl": "ODASSL",
    "taylor": "heyoka TIDES TaylorIntegration ATOMFT TaylorSeries jet",
}
"""By our name, the names of methods of its kind."""


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.casefold())


_OURS = {_plain(word): ours for ours, words in ELSEWHERE.items() for word in words.split()}


def usual_name(name: Any) -> str | None:
    """Return our name of a solver that other packages know by a name; None if there is none."""
    return _OURS.get(_plain(str(name)))
