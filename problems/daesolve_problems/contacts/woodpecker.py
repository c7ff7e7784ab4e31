"""A toy woodpecker that comes down its rod pecking: friction that holds, slides and strikes.

A sleeve with a little play hangs on a vertical rod; a spring ties a bird to it. Tilted, the sleeve
sticks to the rod at an edge; the bird swings, tilts it the other way, and it slides down a little,
until the beak of the bird strikes the rod and throws it back. The unknown reactions are the normal
force and the friction of three contacts: the beak, the lower and the upper edge of the sleeve.
Nothing is conserved: friction and impacts dissipate the work of gravity in each period.

With the height y of the sleeve, its tilt phi_S and that of the bird phi_B, both small,

    2 T = m_S y'^2 + J_S phi_S'^2 + m_B (y' + l_S phi_S' + l_G phi_B')^2 + J_B phi_B'^2
    V = (m_S + m_B) g y + m_B g (l_S phi_S + l_G phi_B) + c (phi_S - phi_B)^2 / 2

    beak     gap l_S + l_G - l_B - r_0 - h_B phi_B    slip y' + l_S phi_S' + (l_G - l_B) phi_B'
    lower    gap r_S - r_0 + h_S phi_S                slip y' + r_S phi_S'
    upper    gap r_S - r_0 - h_S phi_S                slip y' + r_S phi_S'

The beak rebounds with half of its speed, the sleeve does not bounce. With these data the toy has a
stable cycle of 0.145976 s, in which it falls 19.4 mm.

A start has the rate `phi_B_dot` of the bird, the sleeve at rest on its lower edge; without
`phi_B` the bird is where that edge is about to slip.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

import daesolve as ds
from daesolve.multibody.drawing import Circle, Dot, Drawing, Line, Outline, Polar
from daesolve.typing import BoundCase, DifferentiableVector, Parameters
from daesolve_problems.figures import Document, draw_curve, new_figure, series

if TYPE_CHECKING:
    from matplotlib.figure import Figure


CYCLE = 17.574666205617
"""The rate of the bird where the lower edge begins to slip, in the cycle, rad/s."""


def posed() -> ds.MechanicalSystem:
    """Pose the sleeve, the bird and the three contacts."""
    q = ds.coordinates(y="m", phi_S="rad", phi_B="rad")
    p = ds.parameters(
        sleeve_mass=(3e-4, "kg", ds.POSITIVE),
        sleeve_inertia=(5e-9, "kg m^2", ds.POSITIVE),
        bird_mass=(4.5e-3, "kg", ds.POSITIVE),
        bird_inertia=(7e-7, "kg m^2", ds.POSITIVE),
        stiffness=(5.6e-3, "N m/rad", ds.POSITIVE),
        rod_radius=(2.5e-3, "m", ds.POSITIVE),
        sleeve_radius=(3.1e-3, "m", ds.POSITIVE),
        sleeve_half_length=(5.8e-3, "m", ds.POSITIVE),
        spring_distance=(0.010, "m", ds.POSITIVE),
        bird_distance=(0.015, "m", ds.POSITIVE),
        beak_height=(0.02, "m", ds.POSITIVE),
        beak_distance=(0.0201, "m", ds.POSITIVE),
        friction=(0.3, "", ds.NON_NEGATIVE),
        beak_restitution=(0.5, "", ds.NON_NEGATIVE),
        sleeve_restitution=(0.0, "", ds.NON_NEGATIVE),
        gravity=(9.81, "m/s^2"),
    )
    y, sleeve, bird = q.dot.y, q.dot.phi_S, q.dot.phi_B
    arm, reach = p.spring_distance, p.bird_distance
    kinetic = (
        p.sleeve_mass * y**2
        + p.sleeve_inertia * sleeve**2
        + p.bird_mass * (y + arm * sleeve + reach * bird) ** 2
        + p.bird_inertia * bird**2
    ) / 2
    potential = (
        (p.sleeve_mass + p.bird_mass) * p.gravity * q.y
        + p.bird_mass * p.gravity * (arm * q.phi_S + reach * q.phi_B)
        + p.stiffness * (q.phi_S - q.phi_B) ** 2 / 2
    )
    return ds.MechanicalSystem(q, p, kinetic=kinetic, potential=potential, goals=_contacts(q, p))


def _contacts(q: DifferentiableVector, p: Parameters) -> list[ds.Contact]:
    """Return the beak and both edges of the sleeve; the lower one touches at the start."""
    y, sleeve, bird = q.dot.y, q.dot.phi_S, q.dot.phi_B
    arm, reach = p.spring_distance, p.bird_distance
    play = p.sleeve_radius - p.rod_radius
    swing = p.sleeve_half_length * q.phi_S
    return [
        ds.Contact(
            "beak",
            arm + reach - p.beak_distance - p.rod_radius - p.beak_height * q.phi_B,
            slip=y + arm * sleeve + (reach - p.beak_distance) * bird,
            friction=p.friction,
            restitution=p.beak_restitution,
            closed=False,
        ),
        *[
            ds.Contact(
                edge,
                play + side * swing,
                slip=y + p.sleeve_radius * sleeve,
                friction=p.friction,
                restitution=p.sleeve_restitution,
                closed=edge == "lower",
            )
            for edge, side in (("lower", 1.0), ("upper", -1.0))
        ],
    ]


def start(
    given: Mapping[str, float], parameters: Mapping[str, float], structure: Mapping[str, Any]
) -> dict[str, float]:
    """Let the sleeve stick by its lower edge, which is about to slip unless `phi_B` is given."""
    p = parameters
    play = p["sleeve_radius"] - p["rod_radius"]
    sleeve = -play / p["sleeve_half_length"]
    still = {"y": 0.0, "phi_S": sleeve, "y_dot": 0.0, "phi_S_dot": 0.0}
    return {**still, "phi_B": about_to_slip(p), "phi_B_dot": CYCLE, **given}


def about_to_slip(p: Mapping[str, float]) -> float:
    """Return the bird's angle at which the sticking lower edge begins to slip, rad.

    With a stuck sleeve the bird swings alone, a = (c (phi_S - phi_B) - m_B g l_G) / (J_B + m_B
    l_G^2). Friction T = (m_S + m_B) g + m_B l_G a balances the weight, and the moment about the
    middle of the sleeve gives h_S N + r_S T = m_B l_S l_G a + c (phi_S - phi_B) + m_B g l_S: linear
    in phi_B, with T = mu N at the limit.
    """
    play = p["sleeve_radius"] - p["rod_radius"]
    sleeve = -play / p["sleeve_half_length"]
    mass, reach = p["bird_mass"], p["bird_distance"]
    total = p["bird_inertia"] + mass * reach**2

    def margin(bird: float) -> float:
        spring = p["stiffness"] * (sleeve - bird)
        swings = (spring - mass * p["gravity"] * reach) / total
        held = (p["sleeve_mass"] + mass) * p["gravity"] + mass * reach * swings
        moment = mass * p["spring_distance"] * (reach * swings + p["gravity"]) + spring
        pressed = (moment - p["sleeve_radius"] * held) / p["sleeve_half_length"]
        return p["friction"] * pressed - held

    at_zero = margin(0.0)
    return at_zero / (at_zero - margin(1.0))


def period(case: BoundCase) -> ds.Answer:
    """Run a case, and return the last period, the fall in it, and the energy losses."""
    run = case.solve()
    slips = [event for event in run.events if event.name == "lower_slips"]
    if len(slips) < 2:
        return ds.Answer({"periods": 0})
    before, last = slips[-2:]
    impacts = [event.impact for event in run.events if event.impact is not None]
    rubbed = sum(run[f"{name}_friction_work"][-1] for name in ("beak", "lower", "upper"))
    found = {
        "periods": len(slips) - 1,
        "period": last.time - before.time,
        "fall": before.detail["y"] - last.detail["y"],
        "bird_rate": last.detail["phi_B_dot"],
        "lost_by_friction": -rubbed,
        "lost_in_impacts": sum(i.kinetic_before - i.kinetic_after for i in impacts),
    }
    return ds.Answer(found)


def portrait(document: Document) -> Figure:
    """Draw the rates of the bird and of the sleeve over their angles."""
    figure = new_figure(8.0, 3.6)
    for axes, name in zip(figure.subplots(1, 2), ("phi_B", "phi_S"), strict=True):
        draw_curve(axes, document, name, f"{name}_dot", linewidth=0.8)
        axes.set_xlabel(f"{name} (rad)")
        axes.set_ylabel(f"{name}_dot (rad/s)")
    return figure


def drawing(document: Document) -> Drawing:
    """Draw the rod, the sleeve round it, and the bird with its beak."""
    p, y = document["parameters"], series(document, "states", "y")
    radius, half, thick = p["rod_radius"], p["sleeve_half_length"], p["sleeve_radius"]
    low, high = float(y.min()) - 6 * half, float(y.max()) + 8 * half
    arm, reach = p["spring_distance"], p["bird_distance"]
    hinge = Polar((0.0, "y"), arm, "phi_S")
    centre = Polar(hinge, reach, "phi_B")
    head = Polar(centre, p["beak_height"], "upright")
    beak = Polar(head, -p["beak_distance"], "phi_B")
    wall = [(-thick, -half), (thick, -half), (thick, half), (-thick, half)]
    upright = series(document, "states", "phi_B") + np.pi / 2.0
    return Drawing(
        [
            *[Line([(x, low), (x, high)], role="ground") for x in (-radius, radius)],
            Outline(wall, at=(0.0, "y"), angle="phi_S", label="sleeve"),
            Line([(0.0, "y"), hinge, centre], role="detail", label="spring"),
            Line([centre, head, beak], label="bird"),
            Circle(centre, 0.4 * reach, role="body"),
            Dot(beak, role="accent", label="beak"),
        ],
        series={"upright": upright},
    )


problem = ds.Problem(
    "woodpecker",
    title="A toy woodpecker on its rod",
    models={"toy": posed},
    sources=[
        "C. Glocker, Dynamik von Starrkoerpersystemen mit Reibung und Stoessen (1995)",
        "R. I. Leine, C. Glocker, D. H. van Campen, Nonlinear dynamics of the woodpecker toy, "
        "DETC2001/VIB-21608 (2001)",
    ],
    start=start,
    start_values=lambda structure: ("y", "phi_B"),
    analyses={"period": period},
    figures={"portrait": portrait},
    drawing=drawing,
    cases=[
        ds.Case(
            "cycle",
            start={"phi_B_dot": CYCLE},
            until=1.5,
            note="ten periods of the stable cycle, 0.145976 s each",
        ),
        ds.Case(
            "long",
            start={"phi_B_dot": CYCLE},
            until=146.0,
            note="a thousand periods, eight thousand events",
        ),
        ds.Case(
            "caught",
            start={"phi_B_dot": 16.0},
            until=1.5,
            note="from a slower bird: the cycle attracts it, by a factor of -0.839 per period",
        ),
    ],
)
