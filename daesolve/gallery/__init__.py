"""A page for each problem: its equations, parameters and cases, and a run with its drift."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
