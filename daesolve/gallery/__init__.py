"""A page for each problem: its equations, parameters and cases, and a run with its drift."""

from daesolve.gallery.page import write_page

__all__ = ["write_page"]
