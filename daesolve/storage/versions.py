"""On what a run depends besides its own numbers: the versions of packages, and the processor."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("daesolve", "casadi", "numpy", "scipy", "heyoka", "scikit-sundae", "Assimulo")
"""What computes."""


def versions() -> dict[str, str]:
    """Return the versions of what a run depends on, as far as it is installed."""
    found: dict[str, str] = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return {**found, "python": platform.python_version()}


def processor() -> str:
    """Return the name of the processor, for which code is compiled: another may round otherwise."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}".strip()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{platform.machine()} {names[0] if names else platform.processor()}".strip()
