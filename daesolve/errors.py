"""The errors of daesolve, each with its own type and one clear sentence."""

from __future__ import annotations

import difflib
import math
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from numbers import Integral, Real
from typing import Any, TypeGuard, TypeVar, cast

LISTED = 20
"""The most names that a sentence lists."""
Value = TypeVar("Value")
Tell = Callable[[str], None]
"""Called with a sentence for each thing that a user should know."""


class DaesolveError(Exception):
    """Base of every error that daesolve raises on purpose."""


class PosingError(DaesolveError, ValueError):
    """A system, a goal or a problem is posed in a way that makes no sense."""


class SymbolError(PosingError, TypeError, RuntimeError):
    """Symbols are used where only numbers can be; the message names what works on symbols."""


class UnknownNameError(DaesolveError, AttributeError, KeyError):
    """A name is unknown; the message lists the nearest ones."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""  # a KeyError would put it into quotes


class OutOfRangeError(DaesolveError, ValueError):
    """A number is not finite or lies outside the range, which the message gives."""


class InconsistentStateError(DaesolveError, ValueError):
    """No consistent state agrees with the start values; the message names the goal that fails."""


class UndefinedDegreeError(PosingError):
    """The relative degree of a goal differs from state to state."""


class NoInfluenceError(PosingError):
    """No reaction influences a goal."""


class RedundantConstraintsError(PosingError):
    """Constraints depend on each other at every state."""


class ChatteringError(DaesolveError, RuntimeError):
    """Events repeat endlessly at one instant."""


class ResetError(DaesolveError, RuntimeError):
    """A reset or an impact leads to no state from which the motion can continue."""


class NoDerivativeError(DaesolveError, RuntimeError):
    """The motion has no derivative by these values: it ends early, or an event has no time."""


class NoProofError(DaesolveError, RuntimeError):
    """What was to be proved is not; the message says why."""


class NotPeriodicError(DaesolveError, RuntimeError):
    """No periodic motion was found; the message says what does not return, and what to change."""


class DegenerateStartError(DaesolveError, ValueError):
    """The start is a position in which constraints lose their independence."""


class DegenerateConstraintError(DaesolveError, RuntimeError):
    """Constraints began to depend on each other during the run; `run` is the run up to there."""

    def __init__(self, message: str, run: object) -> None:
        super().__init__(message)
        self.run = run

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (*self.args, self.run)


class StepFailedError(DaesolveError, RuntimeError):
    """A simulator could not take a step; it stays where it arrived."""


class RunEndedError(DaesolveError, RuntimeError):
    """A step is requested after the run has ended: an event stopped it, or a step failed."""


class EndedEarlyWarning(UserWarning):
    """A run ended before its time: it failed, became degenerate, or was interrupted."""


class NotStationaryError(DaesolveError, ValueError):
    """The state is neither an equilibrium nor a steady motion; the message names what changes."""


class NoFreedomError(PosingError):
    """The constraints leave no freedom, but the request needs one."""


class FreedomLeftError(PosingError):
    """A prescribed motion leaves a freedom that nothing determines."""


class UnreachableMotionError(DaesolveError, ValueError):
    """The inputs cannot produce the motion; the message names where a force is left over."""


class InfeasibleTaskError(DaesolveError, ValueError):
    """No motion near the guess fulfils a task; the message names what is missed most."""


class NoOptimumError(DaesolveError, RuntimeError):
    """The search for an optimum did not converge; the message says what to change."""


class UnsupportedError(DaesolveError, ValueError):
    """A formulation, a solver or an operation do not fit together; the message says what does."""


class MissingBackendError(DaesolveError, ImportError):
    """The package of a solver is not installed; the message gives the command that adds it."""


class MissingPackageError(DaesolveError, ImportError):
    """An optional package is not installed; the message gives the command that adds it."""

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.package, self.extra)

    def __init__(self, package: str, extra: str) -> None:
        self.package, self.extra = package, extra
        super().__init__(
            f"this needs {package}, which is not installed: pip install 'daesolve[{extra}]'"
        )


def optional_package(name: str, extra: str) -> Any:
    """Return a package that an extra of daesolve adds; raises MissingPackageError."""
    try:
        return import_module(name)
    except ImportError:
        raise MissingPackageError(name, extra) from None


class NotResumableError(DaesolveError, RuntimeError):
    """A run on disk cannot be resumed; the message says why."""


class ArchiveError(DaesolveError):
    """Base of every error about a run on disk."""


class NotARunError(ArchiveError, ValueError):
    """A directory contains no run."""


class FormatError(ArchiveError, ValueError):
    """A run has a format that this version cannot read, or its manifest is damaged."""


class MissingCheckpointError(ArchiveError, LookupError):
    """A part of a run has no checkpoint."""


class TornPartError(ArchiveError, RuntimeError):
    """A file of a committed part is missing or has changed since it was written; see `reason`."""

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (*self.args, self.reason)


class LockedRunError(ArchiveError, RuntimeError):
    """Another process is writing the run, or may be."""


class StorageError(ArchiveError, OSError):
    """A file could not be written; everything committed before is intact."""


class PluginError(DaesolveError, RuntimeError):
    """A plugin could not be loaded, or does not define a problem."""


class MeasurementError(DaesolveError, ValueError):
    """Base of every error about measured data."""


class UnknownColumnError(MeasurementError, UnknownNameError):
    """A column of measured data is no output of the model, or the times are missing."""


class MeasurementGapError(MeasurementError):
    """A measured value is missing or not a finite number."""


class ClockError(MeasurementError):
    """The times of measured data do not increase, or count from another instant or in a unit."""


class HorizonError(MeasurementError):
    """Some measured data are from before or after the motion."""


class TooFewRowsError(MeasurementError):
    """Measured data have fewer values than there are unknowns."""


class WrongUnitError(MeasurementError):
    """A measured column is in another unit than the model."""


class NoFitError(DaesolveError, RuntimeError):
    """No values of the parameters were found that fit the data; the message says why."""


class ModelFileError(DaesolveError, ValueError):
    """A model file (MJCF, URDF) is missing, or contains no model."""


class OutputExistsError(DaesolveError, FileExistsError):
    """The directory for the results is not empty, or cannot be created."""


def in_words(error: BaseException) -> str:
    """Return an error raised by foreign code on one line: its type and its message."""
    kind = type(error).__name__
    try:
        said = " ".join(str(error).split())
    except Exception:
        said = ""
    return f"{kind}: {said}" if said else kind


def readable(number: float) -> float:
    """Return a number for reading: zero for -0.0 and for what is too small for a normal double."""
    return 0.0 if abs(number) < sys.float_info.min else number


def shortened(text: str, longest: int = 60) -> str:
    """Return a text, or its beginning if it is long."""
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def unknown_name(kind: str, name: str, known: Iterable[str]) -> UnknownNameError:
    """Return the error for an unknown name; it lists the nearest known names first.

    Parameters
    ----------
    kind
        What the name should denote, in the singular ("parameter").
    name, known
        The requested name, and all valid ones.
    """
    names = sorted(known)
    folded = [entry.casefold() for entry in names]
    close = difflib.get_close_matches(str(name).casefold(), folded, n=3, cutoff=0.5)
    nearest = [
        entry for fold in dict.fromkeys(close) for entry in names if entry.casefold() == fold
    ]
    if nearest:
        hint = f"did you mean {' or '.join(map(repr, nearest))}?"
    elif names:
        more = ", …" if len(names) > LISTED else ""
        hint = f"there are {', '.join(map(repr, names[:LISTED]))}{more}"
    else:
        hint = "there are none"
    return UnknownNameError(f"unknown {kind} {name!r}: {hint}")


def check_names(kind: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse a name that is not among the known ones; see `unknown_name`."""
    names = list(known)
    for name in given:
        if name not in names:
            raise unknown_name(kind, name, names)


class Named(dict[str, Value]):
    """Values by name: a dictionary that suggests the nearest names when one is missing.

    Parameters
    ----------
    entries
        The values by name; they are copied.
    kind
        What a name denotes, in the singular ("parameter").

    Raises
    ------
    UnknownNameError
        On indexing with an unknown name; `in` and `get` work as in a dictionary.
    """

    def __init__(
        self, entries: Mapping[str, Value] | Iterable[tuple[str, Value]] = (), kind: str = "name"
    ) -> None:
        super().__init__(entries)
        self.kind = kind

    def __missing__(self, name: str) -> Value:
        raise unknown_name(self.kind, name, self)


def suggest_names(owner: object, **kinds: str) -> None:
    """Let dictionaries of a frozen object suggest the nearest names when one is missing.

    Parameters
    ----------
    owner
        The object, from its `__post_init__`.
    **kinds
        By attribute, what a name in it denotes; None and other mappings are left unchanged.
    """
    for attribute, kind in kinds.items():
        held = getattr(owner, attribute)
        if type(held) is dict:
            object.__setattr__(owner, attribute, Named(cast("dict[str, object]", held), kind))


class NotQuasiHolonomicError(DaesolveError, ValueError):
    """Constraints may not be substituted into the Lagrangian."""


class SecondaryConstraintsError(DaesolveError, ValueError):
    """Primary constraints have rates that leave the multipliers undetermined."""


class NoSlowManifoldError(DaesolveError, ValueError):
    """No small velocities balance the forces: they exceed what the contact can transmit."""


class ContradictoryGoalsError(InconsistentStateError):
    """No state satisfies all goals together; the message names each with its residual."""


class UndeterminedMotionError(RedundantConstraintsError):
    """Undetermined reactions enter a force, so the motion is not determined either."""


class VariantError(DaesolveError, ValueError):
    """No single choice of loaded supports was found for some pairs.

    `solution` is what was found, and `run` the run up to there, if a run ended this way.
    """

    event = "no_variant"
    """What a run that ends this way records."""

    def __init__(self, message: str, solution: object = None, run: object = None) -> None:
        super().__init__(message)
        self.solution, self.run = solution, run

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (*self.args, self.solution, self.run)


class NoValidVariant(VariantError):  # noqa: N818
    """No choice of the loaded supports agrees with the signs of its reactions: self-locking."""

    event = "no_valid_variant"


class AmbiguousVariant(VariantError):  # noqa: N818
    """Several choices of the loaded supports agree, and nothing decides which is real."""

    event = "ambiguous_variant"


class UnphysicalVariant(VariantError):  # noqa: N818
    """The only choices that agree diverge as soon as supports yield even slightly."""

    event = "unphysical_variant"


class BranchLost(VariantError):  # noqa: N818
    """The current choice ends, and the neighbouring one leads back."""

    event = "branch_lost"


class JamEvent(VariantError):  # noqa: N818
    """Reactions grow without bounds at a finite speed: a dynamic jam."""

    event = "jam"


class SupportLost(VariantError):  # noqa: N818
    """A body leaves a support that can only push, so its pair no longer holds it."""

    event = "support_lost"


class SupportSticks(VariantError):  # noqa: N818
    """A loaded support stops sliding while the body moves on, but the equations describe slip."""

    event = "support_sticks"


class FrictionlessIllPosed(VariantError):  # noqa: N818
    """The supports do not hold the body, even without friction."""

    event = "frictionless_ill_posed"


class ContactError(VariantError):
    """No single motion of the contacts was found; `solution` is what was found."""

    event = "contacts_undecided"


class NoMotion(ContactError):  # noqa: N818
    """No reactions agree with any states of the contacts: Painleve's paradox."""

    event = "no_motion"


class AmbiguousMotion(ContactError):  # noqa: N818
    """Contacts may continue in several ways, and nothing decides which is real."""

    event = "ambiguous_motion"


class UndeterminedContact(ContactError):  # noqa: N818
    """Undetermined reactions decide how bodies slide on."""

    event = "undetermined_contact"


class UncertifiedContact(ContactError):  # noqa: N818
    """No motion was found that meets the contact conditions, nor a proof that there is none."""

    event = "uncertified_contact"


class EnergyGain(ContactError):  # noqa: N818
    """An impact by the chosen law would add energy to the bodies."""

    event = "energy_gain"


class OrderDecides(ContactError):  # noqa: N818
    """The result of successive impacts depends on their order, and none was given."""

    event = "order_decides"


def _kinds_of(kind: type[VariantError]) -> list[type[VariantError]]:
    return [kind, *(below for one in kind.__subclasses__() for below in _kinds_of(one))]


VARIANT_ERRORS = {kind.event: kind for kind in _kinds_of(VariantError)}
"""By the event that ends a run."""


def is_one_of(value: object, known: Iterable[object]) -> bool:
    """Return whether a value is one of some words and numbers; an array never is."""
    plain = value is None or isinstance(value, str | int | float)
    return plain and any(value == entry for entry in known)


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a finite real number; truth values and words are not."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def check_counts(least: int, **counts: object) -> None:
    """Refuse what is no whole number of at least some size, by its name in messages."""
    for name, count in counts.items():
        if not isinstance(count, Integral) or isinstance(count, bool) or count < least:
            raise OutOfRangeError(f"{name} is {count!r}, but must be a whole number >= {least}")


def check_positive(**numbers: object) -> None:
    """Refuse what is no finite number > 0, by its name in messages."""
    for name, number in numbers.items():
        if not (is_number(number) and number > 0.0):
            raise OutOfRangeError(f"{name} is {number!r}, but must be a number > 0")
