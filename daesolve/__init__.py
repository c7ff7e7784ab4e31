"""daesolve integrates constrained mechanical systems over very long horizons.

    problem -> system -> formulation -> solver -> trajectory -> diagnostics -> report

The names in this module pose a system, run it and hold the result. `__init__.pyi` lists them with
their modules, each imported when one of its names is first used. Everything else is in rooms:
`ds.multibody`, `ds.friction`, `ds.nonholonomic`, `ds.analysis`, `ds.ensembles`, `ds.solvers`,
`ds.drawing`, `ds.errors` and `ds.typing`.

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

from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import lazy_loader

from daesolve.core.features import register

__version__ = "0.1.0"

# What features add to the core, which imports none. The order of laws is that of `laws_for`.
register(
    "switching laws",
    "daesolve.contact.laws.spatial_law:SpatialContactLaw",
    "daesolve.contact.laws.frictional_law:FrictionalContactLaw",
    "daesolve.contact.laws.contact_law:ContactLaw",
    "daesolve.contact.laws.guide_law:GuideLaw",
    when="additions",
)
register(
    "systems with contacts", "daesolve.contact.posing.guides_beside_contacts:with_guides_as_laws"
)
register("systems with contacts", "daesolve.contact.posing.posed_contacts:complete_contacts")
register("pairs of systems", "daesolve.contact.posing.pairs:pose_pairs")
register("slips that stick", "daesolve.contact.posing.guided_brakes:with_guided_brakes")
register("slips that stick", "daesolve.contact.posing.shared_slips:with_shared_slips")
register(
    "solvers",
    "daesolve.solvers.sundae:SundaeCvode",
    "daesolve.solvers.sundae:SundaeIda",
    "daesolve.solvers.assimulo:AssimuloCvode",
    "daesolve.solvers.assimulo_dae:AssimuloIda",
    "daesolve.solvers.assimulo_dae:AssimuloRadau5",
    "daesolve.solvers.assimulo_dae:AssimuloOdassl",
)
register("watches", "daesolve.contact.laws.shared_loads:SharedLoadWatch")
register("watches", "daesolve.verification.step_watch:Glance")
register("auditor", "daesolve.verification.auditor:Auditor")
register("verification", "daesolve.verification.second_run:verified")
register("certification", "daesolve.verification.enclosure.certifying:certified")
register(
    "methods of systems",
    "daesolve.export.exporting:function",
    "daesolve.export.exporting:plant",
    "daesolve.export.exporting:to_python",
    "daesolve.export.exporting:to_c",
    "daesolve.export.exporting:to_fmu",
    "daesolve.export.latex_document:to_latex",
)
register(
    "methods of runs",
    "daesolve.reporting.notebook.runs:plot",
    "daesolve.reporting.notebook.runs:plot_drift",
    "daesolve.reporting.notebook.runs:animate",
    "daesolve.reporting.live.page:live",
)
register("HTML for notebooks", "daesolve.reporting.notebook:html_of")

INNER_ROOMS = {
    "drawing": "multibody.drawing",
    "fmu": "export.fmu",
    "friction": "contact.friction",
}
"""The public rooms within others."""

_load: Callable[[str], Any]
__all__: list[str]
# lazy_loader comes without types.
_load, __dir__, __all__ = lazy_loader.attach_stub(  # pyright: ignore[reportUnknownVariableType]
    __name__, __file__
)


def __getattr__(name: str) -> Any:
    """Import a public name; for an unknown one, suggest the nearest names in all rooms."""
    if name in INNER_ROOMS:  # which lazy_loader takes for attributes of a package, not for modules
        return import_module(f"{__name__}.{INNER_ROOMS[name]}")
    if name in __all__:
        return _load(name)
    # Protocols ask for the first kind. The second is a module, which Python imports if it is told
    # that there is no attribute.
    if name.startswith("_") or find_spec(f"{__name__}.{name}"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    homes = {public: f"ds.{public}" for public in __all__}
    for room in __all__:
        if isinstance(module := __getattr__(room), ModuleType):
            for public in getattr(module, "__all__", vars(module)):
                homes.setdefault(public, f"ds.{room}.{public}")
    nearest = [name] if name in homes else get_close_matches(name, homes, cutoff=0.7)
    where = " or ".join(homes[public] for public in nearest)
    hint = f": did you mean {where}?" if where else "; `dir(ds)` lists all"
    raise AttributeError(f"daesolve has no name {name!r}{hint}")
