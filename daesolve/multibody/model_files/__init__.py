"""Mechanisms from model files of other programs: MJCF and URDF, read by MuJoCo's parser."""

from daesolve.multibody.model_files.freedoms import Freedom
from daesolve.multibody.model_files.left_out import LeftOut
from daesolve.multibody.model_files.reading import FileMechanism, FileStart, read

__all__ = ["FileMechanism", "FileStart", "Freedom", "LeftOut", "read"]
