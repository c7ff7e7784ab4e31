"""Mechanisms from files of other programs: MJCF and URDF, by MuJoCo's parser."""

from daesolve.multibody.model_files.reading import FileMechanism, FileStart, read

__all__ = ["FileMechanism", "FileStart", "read"]
