"""Runs of the net with one motion each: problems, formulations, solvers, events, friction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import daesolve as ds
from tools.net import mechanisms, systems
from tools.net.fingerprints import Fingerprint, of_run
from tools.net.registry import NET

SHORT = 20.0
"""s; longer horizons are shortened to this."""
HORIZONS = {
    "bricard": 0.5,
    "flyball-governor": 0.5,
    "omni-friction": 0.3,
    "omni-rolling": 40.0,
    "rattleback": 5.0,
}
"""For expensive problems, s."""
LEFT_OUT = (("omni-friction", "maximal"), ("bricard", "cross"))
"""Models whose equations take long to compile."""


@dataclass(frozen=True)
class Case:
    """A run of an installed problem; options as for `BoundCase.solve`."""

    problem: str
    case: str | None = None
    until: float | None = None
    model: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __call__(self, scratch: Path) -> Fingerprint:
        """Run it."""
        case = ds.problem(self.problem).case(self.case, model=self.model)
        return of_run(case.solve(self.until, **self.options))


@dataclass(frozen=True)
class Posed:
    """A run of a system that is posed here; options as for `solve`."""

    system: Callable[[], Any]
    until: float
    initial: Mapping[str, float] = field(default_factory=dict[str, float])
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __call__(self, scratch: Path) -> Fingerprint:
        """Run it."""
        return of_run(ds.solve(self.system(), self.until, self.initial, **self.options))


@dataclass(frozen=True)
class Assembled:
    """A run of a mechanism from its own start, with some values changed."""

    mechanism: Callable[[], Any]
    until: float
    initial: Mapping[str, float] = field(default_factory=dict[str, float])

    def __call__(self, scratch: Path) -> Fingerprint:
        """Run it."""
        made = self.mechanism()
        guess = {**made.start, **self.initial}
        return of_run(ds.solve(made.system(), self.until, guess=guess, at=ds.every(0.05)))


# -- every model of every problem ----------------------------------------------------------------


def _of_problem(problem: ds.Problem, model: str) -> Case:
    own = [case for case in problem.cases if case.model == model]
    first = own[0] if own else problem.cases[0]
    span = min(HORIZONS.get(problem.name, SHORT), first.until - first.start_time)
    return Case(problem.name, first.name, first.start_time + span, model)


NET.update(
    {
        f"problem {problem.name} {model}": _of_problem(problem, model)
        for problem in ds.problems()[0]
        for model in problem.models
        if (problem.name, model) not in LEFT_OUT
    }
)

# -- formulations and solvers ---------------------------------------------------------------------

TIGHT = {"rtol": 1e-9, "atol": 1e-9}
LOOSE = {"rtol": 1e-7, "atol": 1e-7}


def _pair(formulation: Any, solver: Callable[[], ds.Solver], until: float = 2.0) -> Case:
    """Return a run of the slider-crank; the solver is created when it runs."""
    return _Made("slider-crank", until=until, options={"formulation": formulation}, solver=solver)


@dataclass(frozen=True)
class _Made(Case):
    """A run whose solver is created when it runs, because its package may be missing."""

    solver: Callable[[], ds.Solver] = ds.Taylor

    def __call__(self, scratch: Path) -> Fingerprint:
        """Run it."""
        case = ds.problem(self.problem).case(self.case, model=self.model)
        return of_run(case.solve(self.until, solver=self.solver(), **self.options))


NET |= {
    "pair feedback taylor": _pair("feedback", ds.Taylor, 10.0),
    "pair feedback taylor loose": _pair(ds.Feedback(rate=3.0), lambda: ds.Taylor(1e-10)),
    "pair feedback rates": _pair(ds.Feedback(rates={"energy": None, "pin_x": 5.0}), ds.Taylor),
    "pair feedback rate auto": _pair(ds.Feedback(rate="auto"), ds.Taylor),
    "pair feedback dop853": _pair("feedback", lambda: ds.Dop853(**TIGHT)),
    "pair feedback dop853 fixed": _pair("feedback", lambda: ds.Dop853(fixed_step=2e-3), 1.0),
    "pair feedback lsoda": _pair("feedback", lambda: ds.Lsoda(**TIGHT), 1.0),
    "pair feedback cvodes": _pair("feedback", lambda: ds.Cvodes(**TIGHT)),
    "pair feedback radau": _pair("feedback", lambda: ds.RadauIIA(**LOOSE), 0.5),
    "pair feedback sundae-cvode": _pair("feedback", lambda: ds.solvers.SundaeCvode(**TIGHT)),
    "pair feedback assimulo-cvode": _pair("feedback", lambda: ds.solvers.AssimuloCvode(**TIGHT)),
    "pair null-space taylor": _pair("null-space", ds.Taylor, 10.0),
    "pair null-space cvodes": _pair("null-space", lambda: ds.Cvodes(**TIGHT)),
    "pair projected taylor": _pair("projected", ds.Taylor, 10.0),
    "pair projected cvodes": _pair("projected", lambda: ds.Cvodes(**TIGHT)),
    "pair projected dop853": _pair(ds.Projected(ds.Feedback(rate=0.0)), ds.Dop853),
    "pair projected index-1 idas": _pair("projected:index-1", lambda: ds.Idas(**TIGHT)),
    "pair index-1 idas": _pair(ds.Index1(rate=10.0), lambda: ds.Idas(**TIGHT)),
    "pair index-1 sundae-ida": _pair("index-1", lambda: ds.solvers.SundaeIda(**TIGHT), 1.0),
    "pair index-1 assimulo-ida": _pair("index-1", lambda: ds.solvers.AssimuloIda(**TIGHT), 1.0),
    "pair index-2 idas": _pair("index-2", lambda: ds.Idas(**LOOSE)),
    "pair index-2 sundae-ida": _pair("index-2", lambda: ds.solvers.SundaeIda(**LOOSE), 1.0),
    "pair index-2 assimulo-radau5": _pair(
        "index-2", lambda: ds.solvers.AssimuloRadau5(**LOOSE), 1.0
    ),
    "pair ggl idas": _pair("ggl", lambda: ds.Idas(**LOOSE)),
    "pair ggl assimulo-ida": _pair("ggl", lambda: ds.solvers.AssimuloIda(**LOOSE), 1.0),
    "pair index-3 assimulo-ida": _pair("index-3", lambda: ds.solvers.AssimuloIda(**LOOSE), 1.0),
    "pair index-3 sundae-ida": _pair("index-3", lambda: ds.solvers.SundaeIda(**LOOSE), 1.0),
    "pair overdetermined odassl": _pair(
        "overdetermined", lambda: ds.solvers.AssimuloOdassl(**LOOSE), 1.0
    ),
    "pair viscous radau": Case(
        "chaplygin-sleigh", until=1.0, options={"formulation": "viscous:1e-4"}
    ),
    "pair regularised lsoda": Case(
        "prism", "unique-lower", 2.2, options={"formulation": "regularised:1e-2"}
    ),
}

# -- options of a run, and its end ---------------------------------------------------------------


def _swing(until: float, *events: str, **options: Any) -> Posed:
    return Posed(lambda: systems.pendulum(*events), until, {"x": -0.8}, options)


NET |= {
    "asked verified": _swing(20.0, verify=True),
    "asked verified by another solver": _swing(10.0, verify="dop853", at=ds.every(0.5)),
    "asked at times": _swing(10.0, at=[3.0, 1.5, 10.0, 7.25]),
    "asked every": _swing(10.0, at=ds.every(0.3)),
    "asked every event": _swing(10.0, "lowest", at=ds.every_event()),
    "asked backwards": _swing(-10.0, "lowest", start_time=5.0),
    "asked backwards cvodes": _swing(-5.0, "lowest", solver=ds.Cvodes(**TIGHT)),
    "asked with drag": _swing(10.0, parameters={"drag": 0.1, "length": 1.3}),
    "asked with a budget": _swing(1000.0, max_evaluations=5000),
    "asked with scales": _swing(5.0, scales={"energy": 100.0}, default_rate=2.0),
    "asked at a tolerance": _swing(5.0, rtol=1e-9, atol=1e-12),
    "asked from a guess": Posed(
        systems.pendulum, 5.0, {"y": -0.5}, {"guess": {"x": 0.7, "x_dot": 1.0}}
    ),
    "ends by an event": _swing(10.0, "lowest", "stop"),
    "ends failed": Posed(systems.growth, 2.0, {"x": 1.0}),
    "ends failed cvodes": Posed(systems.growth, 2.0, {"x": 1.0}, {"solver": "cvodes"}),
    "ends degenerate": Case("bogies", "collapse"),
    "ends degenerate dop853": Case("bogies", "collapse", options={"solver": "dop853"}),
    "ends by a raised degeneracy": Case("bogies", "collapse", options={"rank_loss": "raise"}),
    "ends at a lost branch": Case("four-bar", until=3.0, options={"rank_loss": "stop"}),
    "passes a lost rank": Case("four-bar", until=5.0, options={"rank_loss": "pass"}),
    "passes a lost rank dop853": Case(
        "four-bar", until=1.5, options={"rank_loss": "pass", "solver": "dop853"}
    ),
    "goes by viscosity": Case("bogies", "collapse", 0.02, options={"rank_loss": "viscous"}),
    "goes long with angles": Case("rolling-wheel", "hoop", 1800.0, options={"at": ds.every(10.0)}),
    "goes over rollers": Case("omni-rolling", "twist", 100.0, options={"at": ds.every(1.0)}),
    "goes over rollers cvodes": Case("omni-rolling", "spin", 20.0, options={"solver": "cvodes"}),
    "refused start": Posed(systems.pendulum, 1.0, {"x": 3.0}),
    "refused name": _swing(1.0, parameters={"lenght": 1.0}),
    "refused pair": _swing(1.0, formulation="ggl", solver="taylor"),
    "redundant refused": Posed(systems.beam, 0.1, {"x_dot": 1.0}),
    "redundant shared": Posed(
        systems.beam,
        0.1,
        {"x_dot": 1.0},
        {"redundant": "minimum-norm", "redundant_weights": {"left": 4.0, "right": 4.0}},
    ),
    "redundant dropped": Posed(
        lambda: systems.beam(friction=0.0), 0.1, {"x_dot": 1.0}, {"redundant": "drop"}
    ),
}

# -- events and impacts ---------------------------------------------------------------------------

RELEASED = {"x": 0.84, "x_dot": 0.0, "y_dot": 0.0}
STEPPED = {"x": -0.3826834323650898, "x_dot": 1.4}
SHOT = {"x": -0.7, "y": 0.1, "x_dot": 1.0, "y_dot": 0.3}
ON_TOP = {"x": 0.3, "y": 0.9539392014169456, "x_dot": 0.0, "y_dot": 0.0}
CRADLE = {"x_1": 0.0, "x_2": 1.0, "x_3": 1.5, "x_dot_1": 1.0, "x_dot_2": 0.0, "x_dot_3": -0.2}


def _line(order: str) -> Posed:
    return Posed(lambda: systems.balls_on_a_line([1.0, 2.0, 0.5], order), 4.0, CRADLE)


NET |= {
    "impacts reset": _swing(10.0, "turn", at=ds.every(0.1)),
    "impacts peg": Posed(systems.peg_pendulum, 5.0, RELEASED),
    "impacts peg null-space": Posed(
        systems.peg_pendulum, 5.0, RELEASED, {"formulation": "null-space"}
    ),
    "impacts peg ggl idas": Posed(
        systems.peg_pendulum, 2.0, RELEASED, {"formulation": "ggl", "solver": ds.Idas(**LOOSE)}
    ),
    "impacts peg lsoda": Posed(systems.peg_pendulum, 2.0, RELEASED, {"solver": "lsoda"}),
    "impacts peg sundae-cvode": Posed(
        systems.peg_pendulum, 2.0, RELEASED, {"solver": "sundae-cvode"}
    ),
    "impacts peg assimulo-cvode": Posed(
        systems.peg_pendulum, 2.0, RELEASED, {"solver": "assimulo-cvode"}
    ),
    "impacts rimless wheel": Posed(systems.rimless_wheel, 5.0, STEPPED),
    "impacts ball": Posed(systems.bouncing_ball, 5.0, {"y": 1.0, "y_dot": 0.0}),
    "impacts ball endless": Posed(
        systems.bouncing_ball, 5.0, {"y": 1.0, "y_dot": 0.0}, {"parameters": {"restitution": 0.5}}
    ),
    "impacts line simultaneous": _line("simultaneous"),
    "impacts line sequential": _line("sequential"),
    "impacts billiard": Posed(lambda: systems.billiard(0.3), 50.0, SHOT),
    "impacts thermostat": Posed(systems.thermostat, 10.0, {"temperature": 0.0}),
    "contacts bead": Posed(systems.bead, 4.0, ON_TOP),
    "contacts bead cvodes": Posed(systems.bead, 0.9, ON_TOP, {"solver": "cvodes"}),
    "contacts rod": Posed(systems.rod_on_ends, 6.0, {"y": 0.0, "angle": 0.0}),
}

# -- friction, mechanisms, other systems ----------------------------------------------------------

PUSHED = {"x": 0.0, "x_dot": 0.0}
NET |= {
    "friction drawer": Posed(systems.drawer, 5.0, PUSHED),
    "friction drawer dop853": Posed(systems.drawer, 5.0, PUSHED, {"solver": "dop853"}),
    "friction drawer ggl": Posed(
        systems.drawer, 0.5, PUSHED, {"formulation": "ggl", "solver": ds.Idas(**LOOSE)}
    ),
    "friction drawer regularised": Posed(
        systems.drawer, 1.0, PUSHED, {"formulation": "regularised:1e-2"}
    ),
    "friction block rests": Posed(systems.block, 1.0, PUSHED),
    "friction block stops": Posed(systems.block, 2.0, {"x_dot": 1.0}),
    "friction block turns round": Posed(
        systems.block, 2.0, {"x_dot": -1.0}, {"parameters": {"push": 30.0, "friction": 0.1}}
    ),
    "friction disc": Posed(systems.disc, 5.0, {"x_dot": 1.0, "phi_dot": 30.0}),
    "friction prism switch": Case("prism", "three-solutions"),
    "friction prism strict": Case("prism", "three-solutions", options={"variant_policy": "strict"}),
    "friction prism homotopy": Case(
        "prism", "two-solutions", options={"variant_policy": "homotopy"}
    ),
    "friction prism jam": Case("prism", "none-jam"),
    "friction supports jam": Case("three-supports", "tall-jam"),
    "friction omni": Case("omni-friction", "off-centre", 0.3),
    "mechanism double pendulum": Assembled(mechanisms.double_pendulum, 2.0),
    "mechanism gearbox": Assembled(mechanisms.gearbox, 1.0, {"carrier_angle_dot": 1.0}),
    "mechanism motor": Assembled(mechanisms.motor, 1.0),
    "mechanism wheel rolls": Assembled(
        lambda: mechanisms.wheel("rolls"), 0.5, {"wheel_spin": 20.0, "wheel_x_dot": 2.0}
    ),
    "mechanism wheel slides": Assembled(
        lambda: mechanisms.wheel("slides"), 0.5, {"wheel_spin": 20.0, "wheel_x_dot": 1.0}
    ),
    "mechanism wheel bounces": Assembled(lambda: mechanisms.wheel("bounces"), 2.0),
    "mechanism sticks": Assembled(mechanisms.sticking, 5.0),
    "free body": Posed(
        systems.free_body, 20.0, {"w": 1.0, "i": 0.0, "wx": 1.0, "wy": 0.1, "wz": 0.3}
    ),
    "wheelset": Posed(systems.wheelset, 6.0, {"y": 1.0, "psi": 0.3, "y_dot": -0.4}),
}
