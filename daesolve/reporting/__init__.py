"""Reports of a run: a JSON object, a summary in the terminal, a page with figures, an animation.

`__init__.pyi` lists the names with their modules, each imported when one of its names is first
used: Matplotlib costs a noticeable part of a second.
"""

from typing import Any

import lazy_loader

from daesolve.reporting.document import document as document  # its module has the same name

__all__: list[str]
# lazy_loader comes without types.
__getattr__: Any
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(  # pyright: ignore[reportUnknownVariableType]
    __name__, __file__
)
