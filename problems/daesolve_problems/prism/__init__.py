"""A prism in a straight guide, pressed on its upper or on its lower supports.

A rigid prism slides along a straight guide under constant loads, with Coulomb's friction at its
supports. Two pairs of supports keep it from rising and from turning; they have no measurable play,
but in each pair only the upper or only the lower support is loaded. The two unknown reactions are
the normal forces of the pairs, and which supports carry them is unknown too. Nothing is conserved,
because loads and friction do work.

The prism slides along x. The upper support of pair k (p = 1) and the lower one (p = 2) lie at a_k^p
along the guide and b_k^p across it from the mass centre. P_x, P_y and M are the force and the
moment that act on the prism, s the sense of its slip, and N_k the reaction of a pair, positive
where the lower support is loaded. Each choice (i, j) of loaded supports has its own equations,

    N_1 + N_2 = -P_y,   c_1^i N_1 + c_2^j N_2 = -M,   c_k^p = a_k^p + (-1)^p f_k^p b_k^p s,
    m x'' = P_x - s ((-1)^i f_1^i N_1 + (-1)^j f_2^j N_2),

and is an answer where (-1)^i N_1 >= 0 and (-1)^j N_2 >= 0. There may be one answer to a load, two,
three or none, and an answer may be unphysical: its determinant c_2^j - c_1^i has another sign than
without friction. All this depends only on the direction of the load in the plane of P_y and M.

Modules
-------
`models` has the system and its start, `guide` the answers to each load, `loads` the same as
complementarity problems; `regions` and `hysteresis` compute the analyses in `questions`, `pictures`
has the figures and the drawing.
"""

from __future__ import annotations

import daesolve as ds
from daesolve_problems.prism.models import prism, start
from daesolve_problems.prism.pictures import FIGURES, drawing
from daesolve_problems.prism.questions import hysteresis, regions


def _supports(**values: tuple[float, float, float]) -> dict[str, float]:
    """Return the parameters of supports by name, each given as a, b and its friction."""
    return {
        name.replace("_", f"_{letter}_"): number
        for name, place in values.items()
        for letter, number in zip(("a", "b", "friction"), place, strict=True)
    }


problem = ds.Problem(
    "prism",
    title="A prism in a straight guide with friction",
    models={"prism": prism},
    sources=[
        "V. V. Nikolskii, Yu. P. Smirnov, On the forms of the equations of dynamics of a "
        "system with dry friction (in Russian, received in 1985), section 3",
    ],
    start=start,
    start_values=lambda structure: ("x", "x_dot"),
    analyses={"regions": regions, "hysteresis": hysteresis},
    figures=FIGURES,
    drawing=drawing,
    cases=[
        ds.Case("unique-lower", until=3.0, note="both lower supports are loaded; stops after 2 s"),
        ds.Case(
            "unique-mixed",
            parameters={"moment": 30.0},
            until=1.0,
            note="a large moment loads a lower support and an upper one",
        ),
        ds.Case(
            "two-solutions",
            parameters={
                "force_y": 10.0,
                "moment": -3.0,
                **_supports(
                    upper_1=(-0.25, 1.0, 0.1),
                    upper_2=(0.4, 1.0, 0.2),
                    lower_1=(-0.6, -2.0, 0.75),
                    lower_2=(0.6, -2.0, 0.75),
                ),
            },
            until=1.0,
            note="two answers, one of which is unphysical",
        ),
        ds.Case(
            "none-jam",
            parameters={
                "force_y": 10.0,
                "moment": 0.0,
                **_supports(
                    upper_1=(-0.25, 2.0, 0.75),
                    upper_2=(0.5, 2.0, 1.0),
                    lower_1=(-0.6, -1.5, 0.2),
                    lower_2=(0.6, -1.5, 0.2),
                ),
            },
            until=1.0,
            note="no answer: the prism cannot slide, it jams",
        ),
        ds.Case(
            "three-solutions",
            parameters={
                "force_y": -8.0,
                "moment": -10.0,
                "slip_sign": -1.0,
                **_supports(
                    upper_1=(-1.0, 5.0, 0.0),
                    upper_2=(1.0, 5.0, 0.2),
                    lower_1=(-1.0, -5.0, 0.5),
                    lower_2=(1.0, -5.0, 0.0),
                ),
            },
            until=2.0,
            note="three answers, two of them physical: the past decides which one is real",
        ),
        ds.Case(
            "unique-but-negative-det",
            parameters={
                "force_y": -10.0,
                "slip_sign": -1.0,
                **_supports(
                    upper_1=(-0.4, 2.0, 1.0),
                    upper_2=(0.4, 2.0, 0.1),
                    lower_1=(-0.4, -1.5, 1.0),
                    lower_2=(0.4, -1.5, 0.2),
                ),
            },
            until=1.0,
            note="one answer, and that is unphysical",
        ),
        ds.Case(
            "tall-rough-upper-two",
            parameters={
                "mass": 1.0,
                "force_x": 0.0,
                "force_y": -1.0,
                "moment": -5.0,
                **_supports(
                    upper_1=(-0.5, 2.0, 0.9),
                    upper_2=(0.5, 2.0, 0.9),
                    lower_1=(-0.5, -2.0, 0.1),
                    lower_2=(0.5, -2.0, 0.1),
                ),
            },
            until=1.0,
            note="the upper supports are high and rough: two answers",
        ),
    ],
)
