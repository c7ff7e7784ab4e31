"""The auditor: a run held against what was posed, with nothing of the library in between."""

import lazy_loader

# lazy_loader comes without types.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(  # pyright: ignore[reportUnknownVariableType]
    __name__, __file__
)
