"""The names of what the library adds to a system with contacts."""

ACCUMULATED = "accumulated"
"""The event at which impacts that are left out, lower than what counts as a gap of zero, end."""
PENDING, ENDS = "accumulating", "accumulated_at"
"""The discrete values that say whether it is to come, and when, s."""
SET_OUT = 1e5
"""Times the slip that counts as none, that from which on a contact slides in its own direction."""
