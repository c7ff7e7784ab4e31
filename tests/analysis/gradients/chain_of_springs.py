"""A chain of masses on springs that stiffen, with four parameters each; what its gradient costs.

python -m tests.analysis.gradients.chain_of_springs [--masses 25] [--until 200]
"""

from __future__ import annotations

import argparse
import time

import casadi as ca

import daesolve as ds


def chain_of_springs(masses: int) -> ds.MechanicalSystem:
    """Return the chain; mass, stiffness, damping and hardening of each link are parameters."""
    q = ds.coordinates(**{f"x{k}": "m" for k in range(masses)})
    usual = {"mass": 1.0, "stiffness": 5.0, "damping": 0.01, "hardening": 1.0}
    p = ds.parameters(**{f"{n}_{k}": value for k in range(masses) for n, value in usual.items()})
    x, v = q.vector, q.dot.vector
    kinetic, potential = ca.SX(0), ca.SX(0)
    for k in range(masses):
        stretch = x[k] - (x[k - 1] if k else 0)
        kinetic += p[f"mass_{k}"] * v[k] ** 2 / 2
        potential += p[f"stiffness_{k}"] * stretch**2 / 2 + p[f"hardening_{k}"] * stretch**4 / 4
    force = ca.vertcat(*[-p[f"damping_{k}"] * v[k] for k in range(masses)])
    return ds.MechanicalSystem(q, p, kinetic=kinetic, potential=potential, force=force)


def start_of(masses: int) -> dict[str, float]:
    """Return a start at rest, with stretched springs."""
    return {f"x{k}": 0.1 * (k % 3) for k in range(masses)} | {
        f"x{k}_dot": 0.0 for k in range(masses)
    }


def main() -> None:
    """Print the processor time of a run, and of the gradient of an objective by all parameters."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--masses", type=int, default=25)
    parser.add_argument("--until", type=float, default=200.0)
    asked = parser.parse_args()
    count, until = asked.masses, asked.until
    system, start = chain_of_springs(count), start_of(count)
    by = list(system.dynamics.posed_ranges)
    objective = ds.analysis.Objective(
        end=lambda now: now[f"x{count - 1}"], running=lambda now: now["x0"] ** 2
    )
    seconds: dict[str, float] = {}
    for _ in range(3):
        begun = time.process_time()
        ds.solve(system, until, start)
        between = time.process_time()
        ds.analysis.gradient(system, objective, until, start, by=by)
        for name, took in (("run", between - begun), ("gradient", time.process_time() - between)):
            seconds[name] = min(took, seconds.get(name, took))
    times = seconds["gradient"] / seconds["run"]
    print(f"run {seconds['run']:.3f} s, gradient by {len(by)} parameters {times:.1f} times that")


if __name__ == "__main__":
    main()
