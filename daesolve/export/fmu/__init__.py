"""FMI 3.0 units: a system as C code behind a standard interface, for other tools."""

from daesolve.export.fmu.exporting import Exported, findings, to_fmu

__all__ = ["Exported", "findings", "to_fmu"]
