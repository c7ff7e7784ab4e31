"""What can be wrong with a request, each with its own type and one clear sentence."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from typing import TypeGuard, TypeVar, cast

Value = TypeVar("Value")
Tell = Callable[[str], None]
"""Called with a sentence for each thing that a user should know."""


class DaesolveError(Exception):
    """Base of every error that daesolve raises on purpose."""


class PosingError(DaesolveError, ValueError):
    """A system, a goal or a problem is posed in a way that has no meaning."""


class UnknownNameError(DaesolveError, AttributeError, KeyError):
    """A name that nothing carries; the message lists the nearest ones."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""  # a KeyError would put it into quotes


class OutOfRangeError(DaesolveError, ValueError):
    """A number is not finite or lies outside the range, which the message gives."""


class InconsistentStateError(DaesolveError, ValueError):
    """No consistent state agrees with the start values; the goal that fails is named."""


class UndefinedDegreeError(PosingError):
    """The relative degree of a goal differs from state to state."""


class NoInfluenceError(PosingError):
    """No reaction influences a goal."""


class RedundantConstraintsError(PosingError):
    """Constraints depend on each other at every state."""


class ChatteringError(DaesolveError, RuntimeError):
    """Events follow each other at one instant without end."""


class ResetError(DaesolveError, RuntimeError):
    """A reset leads to no state from which the motion could go on."""


class NoDerivativeError(DaesolveError, RuntimeError):
    """A motion that has no derivative by what was asked: it ends early, or an event has no time."""


class NotPeriodicError(DaesolveError, RuntimeError):
    """No periodic motion was found; the message says what misses itself, and what to change."""


class DegenerateStartError(DaesolveError, ValueError):
    """The start is a position in which constraints lose their independence."""


class DegenerateConstraintError(DaesolveError, RuntimeError):
    """Constraints came to depend on each other on the way; the run up to there is `run`."""

    def __init__(self, message: str, run: object) -> None:
        super().__init__(message)
        self.run = run

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (*self.args, self.run)


class StepFailedError(DaesolveError, RuntimeError):
    """A step of a simulator that could not be taken; the simulator stays where it came to."""


class RunEndedError(DaesolveError, RuntimeError):
    """A step beyond the end of a run: an event stopped it, or a step failed."""


class NotStationaryError(DaesolveError, ValueError):
    """The state is neither an equilibrium nor a steady motion; what changes is named."""


class NoFreedomError(PosingError):
    """The constraints leave no freedom, and what was asked for is about it."""


class FreedomLeftError(PosingError):
    """A motion that is prescribed but for a freedom, which nothing determines."""


class UnreachableMotionError(DaesolveError, ValueError):
    """A motion that the inputs cannot make; where a force is left is named."""


class UnsupportedError(DaesolveError, ValueError):
    """Formulation, solver or operation do not fit together; the message says what does."""


class MissingBackendError(DaesolveError, ImportError):
    """A solver whose package is not installed here; the message gives the command that adds it."""


class MissingPackageError(DaesolveError, ImportError):
    """An optional package is not installed here; the message gives the command that adds it."""

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.package, self.extra)

    def __init__(self, package: str, extra: str) -> None:
        self.package, self.extra = package, extra
        super().__init__(
            f"this needs {package}, which is not installed: pip install 'daesolve[{extra}]'"
        )


class NotResumableError(DaesolveError, RuntimeError):
    """A run on disk that cannot be gone on with, and why."""


class ArchiveError(DaesolveError):
    """Base of every error about a run on disk."""


class NotARunError(ArchiveError, ValueError):
    """A directory that holds no run."""


class FormatError(ArchiveError, ValueError):
    """A run that is written in another way than this version reads, or whose manifest is spoilt."""


class MissingCheckpointError(ArchiveError, LookupError):
    """A part of a run has no checkpoint."""


class TornPartError(ArchiveError, RuntimeError):
    """A file of a committed part is missing, or is not what was written: `reason` says which."""

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (*self.args, self.reason)


class LockedRunError(ArchiveError, RuntimeError):
    """Another process writes the run, or may do so."""


class StorageError(ArchiveError, OSError):
    """A file could not be written; what had been committed before is whole."""


class PluginError(DaesolveError, RuntimeError):
    """A plugin that could not be loaded or does not define a problem."""


class ModelFileError(DaesolveError, ValueError):
    """A model file (MJCF, URDF) that is missing, or that holds no model."""


class OutputExistsError(DaesolveError, FileExistsError):
    """The directory for the results is there already and not empty, or cannot be made."""


def in_words(error: BaseException) -> str:
    """Return what somebody else's code raised, on one line: its type and what it says."""
    kind = type(error).__name__
    try:
        said = " ".join(str(error).split())
    except Exception:
        said = ""
    return f"{kind}: {said}" if said else kind


def listed_value(value: object, longest: int = 60) -> str:
    """Return a value as a sentence names it: its beginning, where it is long."""
    text = repr(value)
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def unknown_name(kind: str, name: str, known: Iterable[str]) -> UnknownNameError:
    """Build the error for a name that is not among the known ones, nearest first.

    Parameters
    ----------
    kind
        What the name should have been, in the singular ("parameter").
    name
        The name that was asked for.
    known
        All names that would have been right.
    """
    names = sorted(known)
    nearest = difflib.get_close_matches(str(name), names, n=3, cutoff=0.5)
    if nearest:
        hint = f"did you mean {' or '.join(map(repr, nearest))}?"
    elif names:
        hint = f"there are {', '.join(map(repr, names[:12]))}{', …' if len(names) > 12 else ''}"
    else:
        hint = "there are none"
    return UnknownNameError(f"unknown {kind} {name!r}: {hint}")


class Named(dict[str, Value]):
    """Values by name: a dictionary that suggests the nearest names where one is missing.

    Parameters
    ----------
    entries
        The values by name, which are copied.
    kind
        What a name denotes, in the singular ("parameter").

    Raises
    ------
    UnknownNameError
        On indexing with a name that nothing carries; `in` and `get` are those of a dictionary.
    """

    def __init__(
        self, entries: Mapping[str, Value] | Iterable[tuple[str, Value]] = (), kind: str = "name"
    ) -> None:
        super().__init__(entries)
        self.kind = kind

    def __missing__(self, name: str) -> Value:
        raise unknown_name(self.kind, name, self)


def suggest_names(owner: object, **kinds: str) -> None:
    """Let dictionaries of a frozen object suggest the nearest names where one is missing.

    Parameters
    ----------
    owner
        The object, from its `__post_init__`.
    **kinds
        By attribute, what a name in it denotes. Other mappings, which read their values from
        elsewhere, are left as they are, and so is None.
    """
    for attribute, kind in kinds.items():
        held = getattr(owner, attribute)
        if type(held) is dict:
            object.__setattr__(owner, attribute, Named(cast("dict[str, object]", held), kind))


class NotQuasiHolonomicError(DaesolveError, ValueError):
    """Constraints that may not be substituted into the Lagrangian."""


class SecondaryConstraintsError(DaesolveError, ValueError):
    """Primary constraints whose rates leave the multipliers undetermined."""


class NoSlowManifoldError(DaesolveError, ValueError):
    """No small velocities balance the forces: these exceed what the contact can give."""


class ContradictoryGoalsError(InconsistentStateError):
    """Goals that no state meets together; each is named with what it misses by."""


class UndeterminedMotionError(RedundantConstraintsError):
    """Reactions that are not determined enter a force: neither is the motion."""


class VariantError(DaesolveError, ValueError):
    """Pairs for which no single choice of loaded supports can be found.

    `solution` has what was found there, and `run` what there is of a run that ended so.
    """

    event = "no_variant"
    """What a run that ends there writes down."""

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
    """The only choices that agree are divergent where supports yield ever so little."""

    event = "unphysical_variant"


class BranchLost(VariantError):  # noqa: N818
    """The choice along which the motion went ends, and the neighbouring one leads back."""

    event = "branch_lost"


class JamEvent(VariantError):  # noqa: N818
    """Reactions grow without bounds at a finite speed: a dynamic jam."""

    event = "jam"


class SupportLost(VariantError):  # noqa: N818
    """A body leaves a support that can only push, and its pair does not hold it any more."""

    event = "support_lost"


class SupportSticks(VariantError):  # noqa: N818
    """A loaded support stops sliding while the body moves on: the equations are those of slip."""

    event = "support_sticks"


class FrictionlessIllPosed(VariantError):  # noqa: N818
    """The supports do not hold the body, even where nothing rubs."""

    event = "frictionless_ill_posed"


class ContactError(VariantError):
    """Contacts for which no single motion can be found; `solution` has what was found."""

    event = "contacts_undecided"


class NoMotion(ContactError):  # noqa: N818
    """No reactions agree with any states of the contacts: Painleve's paradox."""

    event = "no_motion"


class AmbiguousMotion(ContactError):  # noqa: N818
    """Contacts may go on in several ways, and nothing decides which is real."""

    event = "ambiguous_motion"


class UndeterminedContact(ContactError):  # noqa: N818
    """Reactions that are not determined decide how bodies slide on."""

    event = "undetermined_contact"


class UncertifiedContact(ContactError):  # noqa: N818
    """Nothing was found that meets the conditions of contact, and nothing proves there is none."""

    event = "uncertified_contact"


class EnergyGain(ContactError):  # noqa: N818
    """An impact by the law that was named would give energy to the bodies."""

    event = "energy_gain"


class OrderDecides(ContactError):  # noqa: N818
    """Impacts one after the other end differently with the order, and none was named."""

    event = "order_decides"


VARIANT_ERRORS: dict[str, type[VariantError]] = {
    kind.event: kind
    for kind in (
        VariantError,
        NoValidVariant,
        AmbiguousVariant,
        UnphysicalVariant,
        BranchLost,
        JamEvent,
        SupportLost,
        SupportSticks,
        FrictionlessIllPosed,
        ContactError,
        NoMotion,
        AmbiguousMotion,
        UndeterminedContact,
        UncertifiedContact,
        EnergyGain,
        OrderDecides,
    )
}
"""By the event that ends a run."""


def is_one_of(value: object, known: Iterable[object]) -> bool:
    """Return whether a value is one of some words and numbers; an array is none of them."""
    plain = value is None or isinstance(value, str | int | float)
    return plain and any(value == entry for entry in known)


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a finite real number; neither a truth value nor a word is."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False
