"""The cart whose pairs are symmetric about their pivots: it moves like the problem `bogies`.

In the Lagrangian, a pair of wheels is a skate that is heavier by 2 i / h^2, with a moment of
inertia larger by 2 i l^2 / h^2, plus the square of a constraint, which drops out by proposition 1
of the paper.
"""

from __future__ import annotations

FRONT, REAR, FRAME, CENTRE = 1.0, 0.8, 3.0, 0.2
"""The distances of the pivots from the origin, m; the frame's mass, kg; the mass centre, m."""


def symmetric(
    wheel_inertia: float = 0.05,
    wheel_radius: float = 0.3,
    half_track: float = 0.4,
    pair_mass: float = 0.7,
    pair_inertia: float = 0.1,
    frame_inertia: float = 4.0,
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the parameters of a cart, and those of the bogies that move like it.

    Parameters
    ----------
    wheel_inertia, wheel_radius, half_track
        i, h and l of each wheel, kg m^2 and m.
    pair_mass, pair_inertia
        Of each pair without that, kg and kg m^2.
    frame_inertia
        About the frame's origin, kg m^2.
    """
    skate = pair_mass + 2.0 * wheel_inertia / wheel_radius**2
    own = pair_inertia + 2.0 * wheel_inertia * half_track**2 / wheel_radius**2
    mass = FRAME + 2.0 * skate
    pair = {
        "pair_mass": pair_mass,
        "pair_inertia": pair_inertia,
        "wheel_inertia": wheel_inertia,
        "wheel_radius": wheel_radius,
        "half_track": half_track,
    }
    zero = ("spring", "pivot_x", "pair_centre_n", "pair_centre_tau", "axle_centre_n")
    pair |= dict.fromkeys((*zero, "axle_centre_tau"), 0.0)
    cart = {f"{name}_{k}": value for name, value in pair.items() for k in (1, 2)}
    cart |= {
        "pivot_y_1": FRONT,
        "pivot_y_2": -REAR,
        "frame_mass": FRAME,
        "frame_inertia": frame_inertia,
        "frame_centre_x": CENTRE * mass / FRAME,
        "frame_centre_y": -skate * (FRONT - REAR) / FRAME,
    }
    bogies = {
        "mass": mass,
        "centre": CENTRE,
        "front": FRONT,
        "rear": REAR,
        "bogie_inertia": own,
        "inertia": frame_inertia + skate * (FRONT**2 + REAR**2) + 2.0 * own,
    }
    return cart, bogies
