"""The benchmarks by the name that `python -m` takes."""

from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAMS = {
    "benchmarks.accuracy": "benchmarks.accuracy",
    "benchmarks.batches": "benchmarks.batches",
    "benchmarks.contact": "benchmarks.contact",
    "benchmarks.driven": "benchmarks.driven",
    "benchmarks.enclosed_gallery": "benchmarks.enclosed_gallery",
    "benchmarks.enclosures": "benchmarks.enclosures",
    "benchmarks.events": "benchmarks.events",
    "benchmarks.first_run": "benchmarks.first_run.__main__",
    "benchmarks.history": "benchmarks.history.__main__",
    "benchmarks.identification": "benchmarks.identification",
    "benchmarks.importers": "benchmarks.importers.__main__",
    "benchmarks.landing": "benchmarks.landing.__main__",
    "benchmarks.live": "benchmarks.live",
    "benchmarks.live_cases": "benchmarks.live_cases",
    "benchmarks.long_horizon": "benchmarks.long_horizon.__main__",
    "benchmarks.long_horizon.offsets": "benchmarks.long_horizon.offsets",
    "benchmarks.long_horizon.work": "benchmarks.long_horizon.work",
    "benchmarks.long_runs": "benchmarks.long_runs.__main__",
    "benchmarks.models": "benchmarks.models.__main__",
    "benchmarks.models.precision": "benchmarks.models.precision",
    "benchmarks.omni_friction": "benchmarks.omni_friction",
    "benchmarks.omni_rolling.run": "benchmarks.omni_rolling.run",
    "benchmarks.peers": "benchmarks.peers.__main__",
    "benchmarks.pendulum_chain": "benchmarks.pendulum_chain",
    "benchmarks.optimal_control": "benchmarks.optimal_control",
    "benchmarks.periodic_orbits": "benchmarks.periodic_orbits",
    "benchmarks.referee": "benchmarks.referee.__main__",
    "benchmarks.rolling_wheel": "benchmarks.rolling_wheel",
    "benchmarks.simulator": "benchmarks.simulator",
    "benchmarks.step_checks": "benchmarks.step_checks",
    "benchmarks.stewart": "benchmarks.stewart.__main__",
    "benchmarks.taylor_engines": "benchmarks.taylor_engines",
    "benchmarks.variants": "benchmarks.variants.__main__",
}
"""What a command says -> the module that it runs."""


def program(name):
    """Return the module that a command runs; without it where its platform lacks something."""
    try:
        return import_module(PROGRAMS[name])
    except ModuleNotFoundError as error:
        if error.name != "resource":  # Windows has none
            raise
        import pytest

        pytest.skip("there is no module resource here")
