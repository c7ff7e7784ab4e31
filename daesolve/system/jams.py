"""Where supports jam: reactions that grow without bounds while the body still slides.

The equations for the reactions have the matrix Phi M^-1 (n + f tau) of the loaded supports. Its
determinant over the friction-free one is 1 without friction, and zero where the body jams.
"""

from __future__ import annotations

from dataclasses import replace

import casadi as ca

from daesolve.algebra.linear import solve_definite
from daesolve.equations.dynamics import Dynamics
from daesolve.errors import PosingError
from daesolve.posing.events import FALLING, Event, Stop
from daesolve.posing.guides import JAM, Guides

JAMMED = 1e-6
"""The part of the friction-free determinant below which supports have jammed."""
LARGEST = 12
"""Pairs beyond which the determinant is too long an expression."""


def watched_for_jams(dynamics: Dynamics, guides: Guides) -> Dynamics:
    """Return the equations with the event `jam`.

    Raises
    ------
    PosingError
        Other reactions are directed by the forces too, or the pairs are too many.
    """
    count = len(guides.pairs)
    own = sum(row.reaction is not None for row in dynamics.rows)
    if dynamics.relations or dynamics.reactions.numel() != own + count:
        raise PosingError(
            "pairs of supports go together with ideal constraints, and with no other reactions "
            "that are directed by the forces"
        )
    if count > LARGEST:
        raise PosingError(f"a system takes at most {LARGEST} pairs of supports, not {count}")
    stop = Stop(
        "the supports jam: their reactions grow without bounds while the body still slides, and "
        "dry friction of rigid bodies determines no motion after it"
    )
    ratio = determinant_ratio(dynamics, guides)
    event = Event(JAM, ratio - JAMMED, FALLING, stop)
    return replace(dynamics, events=(*dynamics.events, event))


def determinant_ratio(dynamics: Dynamics, guides: Guides) -> ca.SX:
    """Return det Phi M^-1 (n + f tau) over det Phi M^-1 n for the loaded supports."""
    ideal = [row.jacobian for row in dynamics.rows if row.reaction is not None]
    kept = ca.vertcat(*[row.jacobian for row in dynamics.rows if row.reaction is None])
    normals: list[ca.SX] = []
    frictions: list[ca.SX] = []
    for k, (first, second) in enumerate(guides.supports):
        share = (1 + guides.variants[k]) / 2
        normal, friction = share * second.normal, share * second.friction
        if first is not None:
            normal -= (1 - share) * first.normal
            friction -= (1 - share) * first.friction
        normals.append(normal)
        frictions.append(friction)
    held = solve_definite(dynamics.mass, kept.T)
    if ideal:
        rows = ca.vertcat(*ideal)
        free = solve_definite(dynamics.mass, rows.T)
        held = held - free @ solve_definite(rows @ free, rows @ held)
    without = held.T @ ca.horzcat(*normals)
    return determinant(without + held.T @ ca.horzcat(*frictions)) / determinant(without)


def determinant(matrix: ca.SX) -> ca.SX:
    """Return the determinant without a division (R. S. Bird, Inf. Process. Lett. 111 (2011))."""
    count = matrix.shape[0]
    power = matrix
    for _ in range(count - 1):
        upper = ca.triu(power) - ca.diag(ca.diag(power))
        tail = ca.SX(0)
        for k in reversed(range(count)):
            upper[k, k] = -tail
            tail = tail + power[k, k]
        power = upper @ matrix
    return power[0, 0] if count % 2 else -power[0, 0]
