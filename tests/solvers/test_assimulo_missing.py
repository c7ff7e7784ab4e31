"""Where Assimulo is not installed: solvers are known, and say what adds it."""

from __future__ import annotations

import sys

import pytest

from daesolve.errors import MissingBackendError
from daesolve.solvers.assimulo import AssimuloCvode, backend
from daesolve.solvers.assimulo_dae import AssimuloIda, AssimuloOdassl, AssimuloRadau5


@pytest.fixture
def without_assimulo(monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "assimulo"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "assimulo", None)
    backend.cache_clear()
    yield
    backend.cache_clear()


@pytest.mark.usefixtures("without_assimulo")
@pytest.mark.parametrize("kind", [AssimuloCvode, AssimuloIda, AssimuloRadau5, AssimuloOdassl])
def test_the_commands_that_add_it_are_named(kind):
    with pytest.raises(MissingBackendError) as caught:
        kind()
    assert "conda install -c conda-forge assimulo" in str(caught.value)
    assert 'bash tools/assimulo/install "$(which python)"' in str(caught.value)
