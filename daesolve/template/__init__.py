"""A project to start from: a problem of one's own as a plugin, with its tests."""

from daesolve.template.project import new_project

__all__ = ["new_project"]
