"""Mechanisms from files of other programs: MJCF and URDF, by MuJoCo's parser."""

from daesolve.multibody.model_files.reading import FileMechanism, read

__all__ = ["FileMechanism", "read"]
