"""Guards that pass together: rates of maps that are linear in two pieces, in closed form."""

import math

import numpy as np
import pytest

import daesolve as ds
from daesolve.analysis.orbits.monodromy import Multipliers, directional_rates, most_growth


def piece(matrix: np.ndarray, side: float) -> Multipliers:
    """A map for changes on one side of the second axis."""
    return Multipliers(
        values=np.linalg.eigvals(matrix).astype(complex),
        vectors=np.eye(len(matrix), dtype=complex),
        trivial={},
        group=(),
        reduced=matrix,
        matrix=matrix,
        quotient=np.eye(len(matrix)),
        cone=np.array([[side, 0.0]]),
    )


def pieces(right: float, left: float) -> list[Multipliers]:
    """Maps that take the first entry by different factors, and agree where it is zero."""
    return [
        piece(np.array([[right, 0.0], [0.2, 0.3]]), 1.0),
        piece(np.array([[left, 0.0], [-0.1, 0.3]]), -1.0),
    ]


def test_changes_grow_as_their_own_side_has_it() -> None:
    rates = directional_rates(pieces(1.2, 0.7), 0.5, starts=12, periods=2000)
    assert rates is not None
    assert rates.leading == (True, True)
    assert rates.continuous
    for rate, order in zip(rates.rates, rates.orders, strict=True):
        assert abs(rate - math.log(1.2 if order == 0 else 0.7) / 0.5) < 1e-12
    assert set(rates.orders) == {0, 1}


def test_changes_that_go_to_and_fro_have_the_mean_of_both_rates() -> None:
    rates = directional_rates(pieces(-2.0, -0.6), 0.5, starts=4, periods=2000)
    assert rates is not None
    assert rates.leading == (False, False)
    assert np.abs(rates.rates - math.log(2.0 * 0.6) / 2 / 0.5).max() < 1e-12
    assert set(rates.orders) == {-1}


def test_maps_that_differ_where_both_pass_jump() -> None:
    first, second = pieces(1.2, 0.7)
    apart = piece(second.reduced + np.array([[0.0, 0.01], [0.0, 0.0]]), -1.0)
    rates = directional_rates([first, apart], 0.5, starts=2, periods=10)
    assert rates is not None
    assert not rates.continuous
    assert abs(rates.jump - 0.01 / np.linalg.norm(first.reduced, 2)) < 1e-15


def test_growth_is_the_norm_of_a_power() -> None:
    # A Jordan block grows like n, and not at all by its multipliers.
    assert abs(most_growth(piece(np.array([[1.0, 1.0], [0.0, 1.0]]), 1.0), 1000) / 1000 - 1) < 1e-5


def test_an_orbit_without_guards_at_once_has_one_order() -> None:
    q = ds.coordinates(x="m")
    force = (1 - q.x**2) * q.dot.x - q.x
    oscillator = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, force={"x": force})
    cycle = ds.analysis.periodic_orbit(oscillator, {"x": 2.0, "x_dot": 0.1}, 6.6, verify=False)
    assert cycle.directional_rates() is None
    assert abs(cycle.growth(1) - abs(cycle.leading)) < 1e-12
    with pytest.raises(ds.errors.OutOfRangeError, match="periods is -1"):
        cycle.growth(-1)
