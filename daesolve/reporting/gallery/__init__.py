"""A page for each problem: its equations, parameters and cases, and a run with its drift."""

import lazy_loader

# lazy_loader comes without types.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(  # pyright: ignore[reportUnknownVariableType]
    __name__, __file__
)
