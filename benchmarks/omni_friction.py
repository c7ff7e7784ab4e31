"""What a second of the omni vehicle with dry friction costs, reduced and body by body.

Each run is `radau` in straight motion with a tenth of the wheels' mass in the rollers, without
samples on the way. Preparation and integration stand apart, in processor seconds on as many threads
as the linear algebra takes; the integration is told for a simulated second. The ratio compares the
integration of the two models.

    python -m benchmarks.omni_friction [--until S] [--rtol R]... [--repeats N]
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import daesolve as ds

MODELS = ("reduced", "maximal")


@dataclass(frozen=True)
class Cost:
    """Of one run: steps, processor seconds in all, seconds of the integration, place at the end."""

    steps: int
    total: float
    integration: float
    x: float


def cost(model: str, until: float, rtol: float) -> Cost:
    """Run a model once."""
    case = ds.problem("omni-friction").case("straight", model=model)
    begin = time.process_time()
    run = case.solve(until=until, at=[until], solver=ds.RadauIIA(rtol=rtol, atol=rtol / 100))
    total = time.process_time() - begin
    if run.outcome is not ds.Outcome.COMPLETED:
        raise SystemExit(run.message)
    return Cost(run.statistics.steps, total, run.statistics.wall_seconds, run["x"][-1])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.omni_friction",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--until", type=float, default=0.5, help="simulated seconds")
    parser.add_argument("--rtol", type=float, action="append")
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    print(f"{'model':8}  {'rtol':>6}  {'steps':>6}  {'prepare':>8}  {'s per s':>8}  {'x (m)':>14}")
    for rtol in given.rtol or (1e-6,):
        best: dict[str, Cost] = {}
        for model in MODELS:
            found = [cost(model, given.until, rtol) for _ in range(given.repeats)]
            best[model] = least = min(found, key=lambda one: one.integration)
            prepared = max(one.total - one.integration for one in found)
            print(
                f"{model:8}  {rtol:6.0e}  {least.steps:6}  {prepared:8.2f}  "
                f"{least.integration / given.until:8.3f}  {least.x:14.10f}"
            )
        ratio = best["maximal"].integration / best["reduced"].integration
        print(f"maximal / reduced: {ratio:.1f}")


if __name__ == "__main__":
    main()
