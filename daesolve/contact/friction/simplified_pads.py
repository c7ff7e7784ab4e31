"""The simplified friction coefficients of a pad proposed by Nikolskii and Smirnov.

For a pressure with n about 1 they replace the two double integrals by exponentials,

    f' = f (1 - exp(-rho/K)),    r f'' = f K_1 exp(-rho/K_2),

where rho = |V|/|omega| is the distance of the velocity centre from the pad's centre, and K, K_1 and
K_2 are lengths. They give no values. Those of `simplified_lengths` minimise the largest error.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import scipy

from daesolve.contact.friction.pad_friction import checked_exponent, reduced_friction
from daesolve.errors import OutOfRangeError, is_number

TINY = 1e-300
"""The square of a speed that counts as zero, m^2/s^2."""
RATIOS = np.geomspace(1e-3, 1e3, 601)
"""The values of rho / r at which an approximation is compared."""


@dataclass(frozen=True)
class SimplifiedLengths:
    """The lengths of the exponentials, in radii of the pad, and their errors.

    Parameters
    ----------
    slide, turn, decay
        K / r, K_1 / r and K_2 / r.
    slide_error, turn_error
        The largest errors of f' and of f'', in units of f.
    """

    slide: float
    turn: float
    decay: float
    slide_error: float
    turn_error: float


@cache
def simplified_lengths(exponent: float = 1.0) -> SimplifiedLengths:
    """Return the lengths for which the simplified coefficients are closest to the exact ones.

    Parameters
    ----------
    exponent
        n of the pressure, as in `Pad`.

    Raises
    ------
    OutOfRangeError
        The exponent is out of its range.
    """
    slides, turns = reduced_friction(RATIOS, exponent=checked_exponent(exponent))

    def slide_error(length: float) -> float:
        return float(np.max(np.abs(1.0 - np.exp(-RATIOS / length) - slides)))

    def turn_error(lengths: np.ndarray) -> float:
        turn, decay = np.abs(lengths)
        return float(np.max(np.abs(turn * np.exp(-RATIOS / decay) - turns)))

    slide: Any = scipy.optimize.minimize_scalar(
        slide_error, bounds=(0.05, 3.0), method="bounded", options={"xatol": 1e-9}
    )
    turn: Any = scipy.optimize.minimize(
        turn_error, [0.7, 1.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12}
    )
    first, second = (abs(float(value)) for value in turn.x)
    return SimplifiedLengths(float(slide.x), first, second, float(slide.fun), float(turn.fun))


@dataclass(frozen=True)
class SimplifiedPad:
    """A round pad with the simplified coefficients, for comparison with a `Pad`.

    Friction is inaccurate if the pad only turns, or slides far from its velocity centre;
    `simplified_lengths` gives the error. Force and moment do not derive from one potential.

    Parameters
    ----------
    slide, turn, decay
        K, K_1 and K_2, m.

    Raises
    ------
    OutOfRangeError
        A length is not positive.
    """

    slide: float
    turn: float
    decay: float

    def __post_init__(self) -> None:
        for name in ("slide", "turn", "decay"):
            value = getattr(self, name)
            if not is_number(value) or not 0.0 < value < np.inf:
                raise OutOfRangeError(
                    f"the length {name} of a simplified pad is {value!r}, but must be positive"
                )

    @staticmethod
    def nearest(radius: float, exponent: float = 1.0) -> SimplifiedPad:
        """Return the simplified pad closest to a `Pad`.

        Parameters
        ----------
        radius, exponent
            The radius in m, and n, of that pad.
        """
        found = simplified_lengths(float(exponent))
        return SimplifiedPad(found.slide * radius, found.turn * radius, found.decay * radius)

    def traction(self, speed_squared: ca.SX, spin: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return a and b of the friction -a V and its moment -b spin, as `Pad.traction`."""
        speed, rate = ca.sqrt(speed_squared + TINY), ca.sqrt(spin**2 + TINY)
        ratio = speed / rate
        slide = 1.0 - ca.exp(-ratio / self.slide)
        turn = self.turn * ca.exp(-ratio / self.decay)
        return slide / speed, turn / rate
