"""Units are read as powers of the base units of SI."""

import pytest

from daesolve.export.fmu.description import BaseUnit, base_unit, definitions


@pytest.mark.parametrize(
    ("unit", "factor", "powers"),
    [
        ("N m", 1.0, {"kg": 1, "m": 2, "s": -2}),
        ("kg m^2/s^2", 1.0, {"kg": 1, "m": 2, "s": -2}),
        ("m/s/s", 1.0, {"m": 1, "s": -2}),
        ("N m s/rad", 1.0, {"kg": 1, "m": 2, "s": -1, "rad": -1}),
        ("1/s", 1.0, {"s": -1}),
        ("km/h", 1000.0 / 3600.0, {"m": 1, "s": -1}),
        ("kN/mm", 1e6, {"kg": 1, "s": -2}),
    ],
)
def test_products_quotients_and_powers(unit: str, factor: float, powers: dict[str, int]) -> None:
    found = base_unit(unit)
    assert found is not None
    assert found.powers == powers
    assert found.factor == pytest.approx(factor, rel=1e-15)


def test_words_that_are_no_units_have_no_base() -> None:
    assert base_unit("apples/s") is None
    assert definitions(["m", "", "apples", "m"]) == [("m", {"m": "1"}), ("apples", None)]
    assert base_unit("") == BaseUnit()
