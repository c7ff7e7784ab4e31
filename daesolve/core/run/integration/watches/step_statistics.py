"""Statistics of the accepted steps of a run: residuals, their drift, and peaks of outputs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from daesolve.core.formulations import OdeProblem, Watched
from daesolve.core.results.trajectory.results import Drift, Peak, StepBlock

BINS_PER_DECADE = 10
ROUNDING = 3e-16
"""A residual below this part of its scale has no growth exponent."""

UNTRUSTED = 1e-2
"""A residual beyond this fraction of its scale cannot be trusted."""
UNTRUSTED_PUSH = 0.1
"""The same of what a residual would have come to, were it not driven."""


@dataclass(frozen=True)
class ResidualSizes:
    """What the steps up to a time amount to.

    Parameters
    ----------
    start_time, rates
        The start of the run, s, and the rate at which each residual is driven, 1/s.
    time, last
        The last step, s, and the residual there.
    largest, correction
        The largest |residual|, and what driving them has moved, each (n,).
    pushed, most_pushed
        The integral of rate times residual with its sign, and its largest size, each (n,): what
        the residual would have been without being driven, less what it was.
    kinetic
        The largest kinetic energy, J.
    squares, counts
        By the number of a bin of elapsed time: the sum of squares, (n,), and of how many steps.
    """

    start_time: float
    rates: np.ndarray
    time: float
    last: np.ndarray
    largest: np.ndarray
    correction: np.ndarray
    pushed: np.ndarray
    most_pushed: np.ndarray
    kinetic: float
    squares: Mapping[int, np.ndarray]
    counts: Mapping[int, int]

    def then(self, times: np.ndarray, residuals: np.ndarray, kinetic: np.ndarray) -> ResidualSizes:
        """Take in more steps.

        Parameters
        ----------
        times
            (k,) s, at least one.
        residuals
            (k, n)
        kinetic
            (k,) the largest kinetic energy up to each, J.
        """
        sizes = np.abs(residuals)
        worst = np.where(np.isnan(sizes), np.inf, sizes)
        steps = np.abs(np.diff(times, prepend=self.time))
        before = np.vstack([np.abs(self.last), sizes[:-1]])
        mean = (0.5 * before + 0.5 * sizes) * steps[:, None]
        moved = np.where(self.rates > 0.0, self.rates * mean.sum(axis=0), 0.0)
        squares, counts = self._binned(times, sizes)
        signed = np.nan_to_num(np.vstack([self.last, residuals]), posinf=0.0, neginf=0.0)
        pushes = self.pushed + self.rates * np.cumsum(
            0.5 * (signed[1:] + signed[:-1]) * steps[:, None], axis=0
        )
        return ResidualSizes(
            start_time=self.start_time,
            rates=self.rates,
            time=float(times[-1]),
            last=residuals[-1],
            largest=np.maximum(self.largest, worst.max(axis=0, initial=0.0)),
            correction=self.correction + moved,
            pushed=pushes[-1],
            most_pushed=np.maximum(self.most_pushed, np.abs(pushes).max(axis=0)),
            kinetic=float(kinetic[-1]),
            squares=squares,
            counts=counts,
        )

    def driven_at(self, rates: np.ndarray) -> ResidualSizes:
        """Return the same with other rates from here on, 1/s."""
        return replace(self, rates=rates)

    def _binned(
        self, times: np.ndarray, sizes: np.ndarray
    ) -> tuple[dict[int, np.ndarray], dict[int, int]]:
        """Return the bins with more steps."""
        elapsed = np.abs(times - self.start_time)
        later = elapsed > 0.0
        bins = np.floor(BINS_PER_DECADE * np.log10(elapsed[later])).astype(int)
        squared = sizes[later] ** 2
        squares, counts = dict(self.squares), dict(self.counts)
        if not bins.size:
            return squares, counts
        # Time goes one way, so that the steps of a bin follow each other.
        starts = np.flatnonzero(np.append(True, bins[1:] != bins[:-1]))
        sums, ends = np.add.reduceat(squared, starts, axis=0), np.append(starts[1:], len(bins))
        for number, total, first, end in zip(
            bins[starts].tolist(), sums, starts, ends, strict=True
        ):
            squares[number] = squares.get(number, 0.0) + total
            counts[number] = counts.get(number, 0) + int(end - first)
        return squares, counts

    def drift(self, watched: Sequence[Watched], scales: np.ndarray) -> dict[str, Drift]:
        """Return the drift of everything that is watched.

        Parameters
        ----------
        watched, scales
            What the residuals are, and their scales, (n,).
        """
        times, sizes = self._histories(scales)
        return {
            each.name: Drift(
                driven=each.driven,
                max_abs=float(self.largest[index]),
                max_relative=float(self.largest[index]) / scale,
                final_relative=abs(float(self.last[index])) / scale,
                scale=scale,
                correction=float(self.correction[index]) / scale,
                growth_exponent=growth(times, sizes[:, index]),
                note=each.note,
                history=tuple(zip(times.tolist(), sizes[:, index].tolist(), strict=True)),
            )
            for index, (each, scale) in enumerate(zip(watched, scales.tolist(), strict=True))
        }

    def untrusted(self, watched: Sequence[Watched], scales: np.ndarray) -> dict[str, str]:
        """Return which residuals cannot be trusted, by name.

        The size of a driven residual says little; what counts is the total correction, which is
        what the residual would have reached without driving.
        """
        found: dict[str, str] = {}
        sizes, pushes = self.largest / scales, self.most_pushed / scales
        for entry, size, push in zip(watched, sizes.tolist(), pushes.tolist(), strict=True):
            if not size <= UNTRUSTED and not entry.note:
                found[entry.name] = "grew beyond a hundredth of its scale"
            elif entry.driven and push > UNTRUSTED_PUSH:
                found[entry.name] = "would have grown beyond a tenth of its scale without feedback"
        return found

    def _histories(self, scales: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the middles of the bins, (k,) s, and what was in them over the scales, (k, n)."""
        numbers = np.array(sorted(self.counts), dtype=float)
        rows = [np.sqrt(self.squares[n] / self.counts[n]) / scales for n in sorted(self.counts)]
        table = np.array(rows).reshape(len(rows), len(scales))
        return 10.0 ** ((numbers + 0.5) / BINS_PER_DECADE), table

    def saved(self) -> dict[str, Any]:
        """Return what is known, so that another process can resume."""
        bins = sorted(self.counts)
        return {
            "largest": self.largest,
            "last": self.last,
            "correction": self.correction,
            "pushed": self.pushed,
            "most_pushed": self.most_pushed,
            "largest_kinetic": self.kinetic,
            "last_time": self.time,
            "bins": bins,
            "squares": [self.squares[number] for number in bins],
            "counts": [self.counts[number] for number in bins],
        }

    def restored(self, saved: Mapping[str, Any]) -> ResidualSizes:
        """Return what `saved` returned, for the run that this belongs to."""
        names = ("largest", "last", "correction", "pushed", "most_pushed")
        largest, last, correction, pushed, most_pushed = (
            np.array(saved[name], dtype=float) for name in names
        )
        bins = [int(number) for number in saved["bins"]]
        squares = [np.array(row, dtype=float) for row in saved["squares"]]
        return ResidualSizes(
            start_time=self.start_time,
            rates=self.rates,
            time=float(saved["last_time"]),
            last=last,
            largest=largest,
            correction=correction,
            pushed=pushed,
            most_pushed=most_pushed,
            kinetic=float(saved["largest_kinetic"]),
            squares=dict(zip(bins, squares, strict=True)),
            counts=dict(zip(bins, map(int, saved["counts"]), strict=True)),
        )


def nothing_seen(start_time: float, rates: np.ndarray) -> ResidualSizes:
    """Return the sizes before the first step.

    Parameters
    ----------
    start_time, rates
        As in `ResidualSizes`.
    """
    zeros = np.zeros(len(rates))
    return ResidualSizes(
        start_time=start_time,
        rates=rates,
        time=start_time,
        last=zeros,
        largest=zeros,
        correction=zeros,
        pushed=zeros,
        most_pushed=zeros,
        kinetic=0.0,
        squares={},
        counts={},
    )


def growth(times: np.ndarray, size: np.ndarray) -> float | None:
    """Return the slope of a history, in log-log, over the last two decades of time."""
    recent = times > times[-1] / 100.0 if times.size else np.zeros(0, dtype=bool)
    times, size = times[recent], size[recent]
    if len(times) < BINS_PER_DECADE or not np.all(np.isfinite(size)):
        return None
    if size[-1] < ROUNDING or np.any(size == 0.0):
        return None
    along = np.log10(times) - np.mean(np.log10(times))
    return float(along @ np.log10(size) / (along @ along))


# -- peaks -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Peaks:
    """The values of largest magnitude, and their times; NaN if none was finite."""

    values: np.ndarray
    times: np.ndarray

    def then(self, times: np.ndarray, outputs: np.ndarray) -> Peaks:
        """Take in more steps: their times, (k,), and the outputs at their ends, (k, n)."""
        largest, when = self.values.copy(), self.times.copy()
        sizes = np.where(np.isfinite(outputs), np.abs(outputs), -1.0)
        for place, step in enumerate(sizes.argmax(axis=0)):
            size, known = sizes[step, place], abs(largest[place])
            if size > known or (size >= 0.0 and np.isnan(known)):
                largest[place] = outputs[step, place]
                when[place] = times[step]
        return Peaks(largest, when)

    def saved(self) -> dict[str, Any]:
        """Return all that is known, so that another process can resume."""
        return {"values": self.values, "times": self.times}


def restored_peaks(saved: Mapping[str, Any]) -> Peaks:
    """Return what `Peaks.saved` returned."""
    return Peaks(np.array(saved["values"], dtype=float), np.array(saved["times"], dtype=float))


@dataclass(frozen=True)
class PeakWatch:
    """Looks at some outputs.

    Steps at which an output is not finite are left out. If it never is finite, its peak is NaN.

    Parameters
    ----------
    problem
        What is integrated.
    names
        The outputs.
    """

    problem: OdeProblem
    names: Sequence[str]

    def nothing_seen(self) -> Peaks:
        """Return the peaks before the first step."""
        nothing = np.full(len(self.names), np.nan)
        return Peaks(nothing, nothing)

    def outputs(self, block: StepBlock, values: np.ndarray) -> np.ndarray:
        """Return the outputs at the ends of some steps, (k, n).

        Parameters
        ----------
        block
            The steps.
        values
            p, (np,), or for each step, (k, np).
        """
        if not self.names:
            return np.empty((len(block.times), 0))
        found = self.problem.block("recover", block.times, block.states, values)[2]
        known = list(self.problem.labels.outputs)
        return found[:, [known.index(name) for name in self.names]]

    def named(self, peaks: Peaks) -> dict[str, Peak]:
        """Return the peaks by output."""
        pairs = zip(self.names, peaks.values.tolist(), peaks.times.tolist(), strict=True)
        return {name: Peak(value, time) for name, value, time in pairs}


# -- steps that may be taken back ------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PendingSteps:
    """Steps that may still be withdrawn, and the statistics before them.

    Parameters
    ----------
    times
        (k,) s.
    sizes, outputs
        The residuals and the outputs whose peaks are reported, at the end of each: (k, n), (k, m).
    kinetic
        (k,) the largest kinetic energy up to each, J.
    before
        Returns what the steps before them amount to: it is requested only where steps are taken
        back, or stored.
    """

    times: np.ndarray
    sizes: np.ndarray
    outputs: np.ndarray
    kinetic: np.ndarray
    before: Callable[[], tuple[ResidualSizes, Peaks]]

    def with_first(self, count: int) -> tuple[ResidualSizes, Peaks]:
        """Return what is known after the first of them."""
        sizes, peaks = self.before()
        if not count:
            return sizes, peaks
        times = self.times[:count]
        return (
            sizes.then(times, self.sizes[:count], self.kinetic[:count]),
            peaks.then(times, self.outputs[:count]),
        )

    def driven_at(self, rates: np.ndarray) -> PendingSteps:
        """Return the same for other rates, 1/s."""
        sizes, peaks = self.before()
        return replace(self, before=lambda: (sizes.driven_at(rates), peaks))

    def after(self, count: int) -> PendingSteps:
        """Return those after the first of them."""
        if not count:
            return self
        return PendingSteps(
            times=self.times[count:],
            sizes=self.sizes[count:],
            outputs=self.outputs[count:],
            kinetic=self.kinetic[count:],
            before=functools.cache(functools.partial(self.with_first, count)),
        )

    def saved(self) -> dict[str, Any]:
        """Return all of it, so that another process can resume."""
        sizes, peaks = self.before()
        return {
            "times": self.times,
            "sizes": self.sizes,
            "outputs": self.outputs,
            "kinetic": self.kinetic,
            "sizes_before": sizes.saved(),
            "peaks_before": peaks.saved(),
        }


def restored_pending_steps(saved: Mapping[str, Any], of_run: ResidualSizes) -> PendingSteps:
    """Return what `saved` returned, for the run of some sizes."""
    times, sizes, outputs, kinetic = (
        np.array(saved[name], dtype=float) for name in ("times", "sizes", "outputs", "kinetic")
    )
    before = of_run.restored(saved["sizes_before"]), restored_peaks(saved["peaks_before"])
    return PendingSteps(
        times=times,
        sizes=sizes.reshape(len(times), -1),
        outputs=outputs.reshape(len(times), -1),
        kinetic=kinetic,
        before=lambda: before,
    )
