"""The names of what the library adds to a system with contacts."""

ACCUMULATED = "accumulated"
"""The event that ends omitted impacts, which are lower than the height of a closed gap."""
JAM = "jam"
"""The event at which reactions grow without bound."""
REST = "rest"
"""The event at which everything that moves has come to rest on its contacts."""
SET_OUT = 1e5
"""Multiplies the slip that counts as zero; a faster contact slides in its own direction."""


def friction_work(contact: str) -> str:
    """Return the meter of the friction work in a contact, J."""
    return f"{contact}_friction_work"
