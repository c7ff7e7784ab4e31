"""The names of what the library adds to a system with contacts."""

TOUCHING = 1e-12
"""m; what counts as a gap of zero at least, also where no gap was ever larger."""
ACCUMULATED = "accumulated"
"""The event at which impacts that are left out, lower than what counts as a gap of zero, end."""
REST = "rest"
"""The event at which all that moves has come to rest on its contacts."""
PENDING, ENDS = "accumulating", "accumulated_at"
"""The discrete values that say whether it is to come, and when, s."""
SET_OUT = 1e5
"""Times the slip that counts as none, that from which on a contact slides in its own direction."""


def friction_work(contact: str) -> str:
    """Return the meter of the work of friction in a contact, J."""
    return f"{contact}_friction_work"
