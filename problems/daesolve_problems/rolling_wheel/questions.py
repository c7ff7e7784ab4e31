"""What can be asked about the wheel besides its motion."""

from __future__ import annotations

import daesolve as ds
from daesolve.typing import BoundCase
from daesolve_problems.rolling_wheel.starting import room


def admissibility(case: BoundCase) -> ds.Answer:
    """Tell whether the wheel touches the curve in one point alone wherever it can get.

    Where it can get farther than the curve is traced, `admissible` is None unless it is stopped
    before.
    """
    about = room(case.full_start, case.full_parameters, case.problem.meaning(case.full_structure))
    found = about.admissibility
    return ds.Answer(
        {
            "admissible": found.admissible if about.whole or not found.admissible else None,
            "radius": found.radius,
            "largest_radius": found.largest_radius,
            "largest_local_radius": found.largest_local_radius,
            "tightest": found.tightest and dict(zip("xz", found.tightest, strict=True)),
            "reach": list(found.stretch),
            "second_contacts": [
                {"s": second.s, "contact": list(second.contact), "other": list(second.other)}
                for second in found.second_contacts
                if second is not None
            ],
        }
    )
