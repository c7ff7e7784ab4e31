"""Mechanisms from model files of other programs: MJCF and URDF, read by MuJoCo's parser."""

from daesolve.multibody.model_files.contacts import ContactKind
from daesolve.multibody.model_files.file_mechanism import FileMechanism, FileStart, read
from daesolve.multibody.model_files.freedoms import Freedom
from daesolve.multibody.model_files.left_out import LeftOut

__all__ = ["ContactKind", "FileMechanism", "FileStart", "Freedom", "LeftOut", "read"]
