"""What a certified run proves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from daesolve.errors import check_names


@dataclass(frozen=True, eq=False)
class CertifiedEvent:
    """An event that happens, and when.

    Parameters
    ----------
    name
        Of the event.
    time, offset
        The middle of the interval is their sum, s: a double, and what it leaves.
    radius
        The half-width of the interval, s.
    """

    name: str
    time: float
    offset: float
    radius: float


@dataclass(frozen=True, eq=False)
class RunCertificate:
    """Boxes that contain the motion of a model, at samples and at events.

    Parameters
    ----------
    times
        (k,) the sample times that it covers, s.
    states
        The names of the states.
    centres, radii
        Name -> (k,) the middle and the half-width of each state, reaction, output and invariant;
        those with a jump in themselves or in a derivative are left out. Infinitely wide where a
        quantity has a pole.
    offsets
        Name -> (k,) what the middle is in addition to the double `centres`.
    events
        The events, all of them, in the order of time.
    until
        To here the motion is proved to exist, s.
    message
        Why it ends there; empty where that is the end of the run.
    steps, seconds
        How many steps it took, and processor time, s.
    """

    times: np.ndarray
    states: tuple[str, ...]
    centres: Mapping[str, np.ndarray]
    radii: Mapping[str, np.ndarray]
    offsets: Mapping[str, np.ndarray]
    events: tuple[CertifiedEvent, ...]
    until: float
    message: str
    steps: int
    seconds: float

    @property
    def complete(self) -> bool:
        """Whether it covers the whole run."""
        return not self.message

    def bounds(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Return doubles that bound a certified quantity from below and above at the samples.

        Raises
        ------
        UnknownNameError
            There is no such quantity.
        """
        check_names("certified quantity", [name], self.centres)
        width = np.abs(self.offsets[name]) + self.radii[name]
        low = np.nextafter(self.centres[name] - width * (1.0 + 1e-15), -np.inf)
        return low, np.nextafter(self.centres[name] + width * (1.0 + 1e-15), np.inf)

    @property
    def width(self) -> float:
        """The largest half-width of a state at a sample."""
        widths = (float(np.max(self.radii[name], initial=0.0)) for name in self.states)
        return max(widths, default=0.0)

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        boxes = {"centres": self.centres, "offsets": self.offsets, "radii": self.radii}
        return {
            **{name: getattr(self, name) for name in ("until", "message", "steps", "seconds")},
            "states": list(self.states),
            "events": [asdict(event) for event in self.events],
            "times": self.times.tolist(),
            **{kind: {n: row.tolist() for n, row in of.items()} for kind, of in boxes.items()},
        }

    def __str__(self) -> str:
        why = f": {self.message}" if self.message else ""
        return (
            f"certified to t = {self.until:.10g} s{why}; states within {self.width:.2g} at "
            f"{len(self.times)} samples, {len(self.events)} events"
        )
