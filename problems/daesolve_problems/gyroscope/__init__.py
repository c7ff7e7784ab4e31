"""A gyroscope in gimbals whose rings turn slowly against its fast rotor.

A fast rotor in two rings, all of them rigid and balanced: the outer ring turns about an axis fixed
in space, the inner one, the housing, about an axis in the outer. Given moments act on the two
rings, and perhaps a damping; weight has no moment, and no motor drives the rotor. There are no
constraints, and so no reactions. The question is how well Dirac's primary constraints, without the
inertia of the rings, describe the slow precession. The rotor's own momentum is conserved, but not
the energy, because the moments do work.

The outer ring is turned by alpha about an axis fixed in space, the housing by beta about the inner
axis in that ring, the rotor by gamma about its own axis in the housing. All bodies are balanced:

    L = eps/2 (J(beta) alpha'^2 + B0 beta'^2 + C (alpha' sin beta + gamma')^2),
    J = A1 + A2 cos^2 beta + A3 sin^2 beta.

eps measures the moments of inertia against the rotor's own momentum h = eps C (alpha' sin beta +
gamma'), which is kept: so gamma' is of the order 1/eps. The moments about the two axes of the rings
are

    Q_alpha = 0.3 + 0.2 cos t - damping alpha',
    Q_beta = -0.5 cos beta - 0.1 alpha - damping beta'.

With eps = 0 the Lagrangian has no energy of the rings left, and Dirac's primary constraints
p_alpha = h sin beta, p_beta = 0 follow. That they persist is the theory of precession,

    h cos(beta) beta' = Q_alpha,    -h cos(beta) alpha' = Q_beta,

in which alpha' and beta' follow from the angles as in non-holonomic constraints.
`daesolve.nonholonomic.small_velocities` generates `dirac` and `refined` from the full model; these
equations are not given to it.

Modules
-------
`models` has the systems and their starts, `questions` and `nutation` the analyses, `pictures` the
figures and the drawing.
"""

from __future__ import annotations

import daesolve as ds
from daesolve_problems.gyroscope.models import (
    dirac,
    dirac_start,
    full,
    full_start,
    refined,
    refined_start,
)
from daesolve_problems.gyroscope.nutation import guiding_centre
from daesolve_problems.gyroscope.pictures import drawing, way_of_the_axis
from daesolve_problems.gyroscope.questions import limit, models, orders, validity

PLACE = {"alpha": 0.1, "beta": 0.3, "gamma": 0.0}
KICKED = PLACE | {"alpha_dot": 1.5, "beta_dot": -0.7}

problem = ds.Problem(
    "gyroscope",
    title="A gyroscope in gimbals, and its precession",
    models={"full": full, "dirac": dirac, "refined": refined},
    sources=[
        "A. V. Vlakhova, On 'non-holonomic motions' of gyroscopic and wheeled systems, Vestnik "
        "Moskov. Univ., Ser. 1, Mat. Mekh. (2013) 5, 67-73 (in Russian)",
        "A. Yu. Ishlinskii, Mechanics of Gyroscopic Systems, Moscow (1963, in Russian)",
    ],
    start={"full": full_start, "dirac": dirac_start, "refined": refined_start},
    analyses={
        "orders": orders,
        "models": models,
        "validity": validity,
        "limit": limit,
        "guiding-centre": guiding_centre,
    },
    figures={"path of the rotor's axis": way_of_the_axis},
    drawing=drawing,
    cases=[
        ds.Case(
            "on-manifold",
            start=PLACE,
            until=1.0,
            note="the rings start with the velocities of the precession: almost no nutation",
        ),
        ds.Case(
            "nutation",
            start=KICKED,
            until=1.0,
            note="the rings are kicked, and keep nutating: velocities never agree with the "
            "reduced models, angles agree to the order eps",
        ),
        ds.Case(
            "damped",
            parameters={"damping": 0.6},
            start=KICKED,
            until=1.0,
            note="the same kick, but nutation dies out in a boundary layer",
        ),
    ],
)
