"""The names of what the library adds to a system with contacts."""

TOUCHING = 1e-12
"""m; what counts as a gap of zero at least, also where no gap was ever larger."""
ACCUMULATED = "accumulated"
"""The event at which impacts that are left out, lower than what counts as a gap of zero, end."""
PENDING, ENDS = "accumulating", "accumulated_at"
"""The discrete values that say whether it is to come, and when, s."""


def friction_work(contact: str) -> str:
    """Return the meter of the work of friction in a contact, J."""
    return f"{contact}_friction_work"
