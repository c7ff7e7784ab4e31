"""Every module has its place: in the layers of `pyproject.toml`, and in `docs/architecture.md`."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
    "contracts"
]
LAYERS = {
    contract["layers"][0].rpartition(".")[0]: contract["layers"]
    for contract in CONTRACTS
    if contract["type"] == "layers"
}


def modules(package):
    directory = ROOT.joinpath(*package.split("."))
    files = {path.stem for path in directory.glob("*.py")} - {"__init__", "__main__"}
    return files | {path.parent.name for path in directory.glob("*/__init__.py")}


@pytest.mark.parametrize("package", LAYERS)
def test_every_module_stands_in_one_layer(package):
    placed = [name.strip() for layer in LAYERS[package] for name in re.split(r"[|:]", layer)]
    assert sorted(placed) == sorted(f"{package}.{name}" for name in modules(package))


def test_the_architecture_says_of_every_station_what_it_holds():
    page = (ROOT / "docs" / "architecture.md").read_text()
    rows = [line.split("|") for line in page.splitlines() if line.startswith("|")]
    told = [name for row in rows for cell in row[1:3] for name in re.findall(r"`(\w+)/?`", cell)]
    assert sorted(told) == sorted(modules("daesolve"))
