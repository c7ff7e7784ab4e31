"""daesolve integrates constrained mechanical systems over very long horizons.

    problem -> system -> formulation -> solver -> trajectory -> diagnostics -> report

Examples
--------
>>> import daesolve as ds
>>> q = ds.coordinates(x="m", y="m")
>>> p = ds.parameters(mass=(1.0, "kg"), length=(1.0, "m"), gravity=(9.81, "m/s^2"))
>>> rod = ds.Holonomic("rod", q.x**2 + q.y**2 - p.length**2)
>>> pendulum = ds.MechanicalSystem(
...     q,
...     p,
...     kinetic=p.mass * (q.dot.x**2 + q.dot.y**2) / 2,
...     potential=p.mass * p.gravity * q.y,
...     goals=[rod],
... )
>>> run = ds.solve(pendulum, until=10.0, initial={"x": -1.0})
>>> bool(run.drift["energy"].max_relative < 1e-14)
True
"""

from daesolve.algebra.linear import solve_definite
from daesolve.cases.case import Answer, Case, Measure, choice
from daesolve.citation import citation
from daesolve.comparison import Comparison, compare
from daesolve.drawing.mechanisms import drawing_of
from daesolve.equations.contacts import Contact
from daesolve.errors import DaesolveError
from daesolve.events import EITHER, FALLING, RISING, Event, Record, Reset, Stop
from daesolve.exponents import LyapunovExponent, lyapunov_exponent
from daesolve.formulations import (
    GGL,
    Feedback,
    Formulation,
    Index1,
    Index2,
    Index3,
    NullSpace,
    Overdetermined,
    Projected,
    Regularised,
    Viscous,
)
from daesolve.friction import Pad, PadNodes, Support, VariantPair, pad_nodes, reduced_friction
from daesolve.gallery import write_page
from daesolve.goals import (
    Goal,
    Holonomic,
    Implicit,
    Invariant,
    Nonholonomic,
    Relation,
)
from daesolve.linearization import linearize
from daesolve.mechanics import (
    DiracModel,
    Eliminated,
    GrowthVector,
    NoSlipClosure,
    QuasiHolonomic,
    SubstitutableCombinations,
    eliminate,
    growth_vector,
    is_quasi_holonomic,
    no_slip_closure,
    small_velocities,
    substitutable_combinations,
)
from daesolve.mechanics.multibody import (
    GROUND,
    Action,
    Actuator,
    Body,
    Contribution,
    Coulomb,
    Cylindrical,
    Damper,
    Disc,
    Distance,
    Ellipsoid,
    Fixed,
    Frame,
    Gear,
    JointFriction,
    Mechanism,
    Motor,
    Part,
    PlanarBody,
    PlanarFrame,
    PlanarPoint,
    PlaneContact,
    Point,
    PointForce,
    Prismatic,
    RegularisedCoulomb,
    Revolute,
    Rolling,
    Slot,
    Sphere,
    Spherical,
    Spindle,
    Spring,
    SpringDamper,
    Torque,
    TorsionDamper,
    TorsionSpring,
    Torus,
    Universal,
    friction_margin,
    quaternion,
)
from daesolve.problem import Problem
from daesolve.reference import ReferenceRun, reference_run
from daesolve.registry import problem, problems
from daesolve.resting import Stiction, StictionLimit, stiction, stiction_limit
from daesolve.results import Outcome
from daesolve.resuming import resume
from daesolve.root_locus import RootLocus, root_locus
from daesolve.running.sampling import every, every_event
from daesolve.sections import Section, section_of, sections
from daesolve.sensitivity import Sensitivity, sensitivity
from daesolve.solvers import (
    AssimuloCvode,
    AssimuloIda,
    AssimuloOdassl,
    AssimuloRadau5,
    Cvodes,
    Dop853,
    Idas,
    Lsoda,
    RadauIIA,
    Solver,
    SundaeCvode,
    SundaeIda,
    Taylor,
)
from daesolve.solving import solve
from daesolve.starting import ConsistentState, consistent_state
from daesolve.supports.variants import VariantProblem, Variants, variant_problem
from daesolve.sweep import Sweep, log_uniform, normal, resume_sweep, sweep, uniform
from daesolve.symbols import (
    ANGLE,
    NON_NEGATIVE,
    POSITIVE,
    Interval,
    auxiliaries,
    coordinates,
    discrete,
    implicit,
    parameters,
    reactions,
    states,
    time,
    velocities,
)
from daesolve.system import ControlSystem, MechanicalSystem
from daesolve.time_stepping import TimeStepping, moreau
from daesolve.trajectory import Trajectory

__version__ = "0.1.0"

__all__ = [
    "ANGLE",
    "EITHER",
    "FALLING",
    "GGL",
    "GROUND",
    "NON_NEGATIVE",
    "POSITIVE",
    "RISING",
    "Action",
    "Actuator",
    "Answer",
    "AssimuloCvode",
    "AssimuloIda",
    "AssimuloOdassl",
    "AssimuloRadau5",
    "Body",
    "Case",
    "Comparison",
    "ConsistentState",
    "Contact",
    "Contribution",
    "ControlSystem",
    "Coulomb",
    "Cvodes",
    "Cylindrical",
    "DaesolveError",
    "Damper",
    "DiracModel",
    "Disc",
    "Distance",
    "Dop853",
    "Eliminated",
    "Ellipsoid",
    "Event",
    "Feedback",
    "Fixed",
    "Formulation",
    "Frame",
    "Gear",
    "Goal",
    "GrowthVector",
    "Holonomic",
    "Idas",
    "Implicit",
    "Index1",
    "Index2",
    "Index3",
    "Interval",
    "Invariant",
    "JointFriction",
    "Lsoda",
    "LyapunovExponent",
    "Measure",
    "MechanicalSystem",
    "Mechanism",
    "Motor",
    "NoSlipClosure",
    "Nonholonomic",
    "NullSpace",
    "Outcome",
    "Overdetermined",
    "Pad",
    "PadNodes",
    "Part",
    "PlanarBody",
    "PlanarFrame",
    "PlanarPoint",
    "PlaneContact",
    "Point",
    "PointForce",
    "Prismatic",
    "Problem",
    "Projected",
    "QuasiHolonomic",
    "RadauIIA",
    "Record",
    "ReferenceRun",
    "Regularised",
    "RegularisedCoulomb",
    "Relation",
    "Reset",
    "Revolute",
    "Rolling",
    "RootLocus",
    "Section",
    "Sensitivity",
    "Slot",
    "Solver",
    "Sphere",
    "Spherical",
    "Spindle",
    "Spring",
    "SpringDamper",
    "Stiction",
    "StictionLimit",
    "Stop",
    "SubstitutableCombinations",
    "SundaeCvode",
    "SundaeIda",
    "Support",
    "Sweep",
    "Taylor",
    "TimeStepping",
    "Torque",
    "TorsionDamper",
    "TorsionSpring",
    "Torus",
    "Trajectory",
    "Universal",
    "VariantPair",
    "VariantProblem",
    "Variants",
    "Viscous",
    "auxiliaries",
    "choice",
    "citation",
    "compare",
    "consistent_state",
    "coordinates",
    "discrete",
    "drawing_of",
    "eliminate",
    "every",
    "every_event",
    "friction_margin",
    "growth_vector",
    "implicit",
    "is_quasi_holonomic",
    "linearize",
    "log_uniform",
    "lyapunov_exponent",
    "moreau",
    "no_slip_closure",
    "normal",
    "pad_nodes",
    "parameters",
    "problem",
    "problems",
    "quaternion",
    "reactions",
    "reduced_friction",
    "reference_run",
    "resume",
    "resume_sweep",
    "root_locus",
    "section_of",
    "sections",
    "sensitivity",
    "small_velocities",
    "solve",
    "solve_definite",
    "states",
    "stiction",
    "stiction_limit",
    "substitutable_combinations",
    "sweep",
    "time",
    "uniform",
    "variant_problem",
    "velocities",
    "write_page",
]


def __dir__() -> list[str]:
    """Name what is public: a shell that completes names would list every module beside it."""
    return [*__all__, "drawing", "errors", "typing"]
