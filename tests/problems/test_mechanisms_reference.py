"""The ground truth of the mechanisms is checked: published values and laws of mechanics."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from tests.reference.mechanisms_bricard import PUBLISHED as BRICARD
from tests.reference.mechanisms_bricard import Rods, joint_axes, points
from tests.reference.mechanisms_chain import chain_angles
from tests.reference.mechanisms_governor import PUBLISHED as GOVERNOR
from tests.reference.mechanisms_governor import Governor
from tests.reference.mechanisms_top import Top


def times_and_values(published):
    return np.array([0.0, *published]), np.array(list(published.values()))


@pytest.mark.slow
def test_bricard_agrees_with_the_published_values_to_their_last_digit():
    times, x = times_and_values(BRICARD)
    assert np.max(np.abs(points(Rods().angles(times))[2][0, 1:] - x)) < 6e-7


@pytest.mark.slow
def test_bricard_comes_back_after_a_period():
    """The period is a mean over a smooth period, the angle an integral: they share the pace."""
    rods = Rods(width=0.1)
    assert abs(rods.angles(np.array([0.0, rods.period()]))[1]) < 1e-11


def test_bricard_has_rods_of_length_one_normal_to_the_axes_of_its_hinges():
    places = points(np.linspace(0.0, np.pi, 7))
    rods = [end - begin for begin, end in pairwise(places)]
    second, fourth, sixth = joint_axes(places)
    third = np.cross(rods[1], second, axis=0)
    fifth = np.cross(rods[3], fourth, axis=0)
    for rod in rods:
        assert np.max(np.abs(np.sum(rod**2, axis=0) - 1)) < 1e-14
    # Those of P3 and P5 follow from either of the rods that they join.
    assert np.max(np.abs(third - np.cross(rods[2], fourth, axis=0))) < 1e-14
    assert np.max(np.abs(fifth + np.cross(rods[4], sixth, axis=0))) < 1e-14
    assert np.max(np.abs(np.sum(rods[0] * second, axis=0))) < 1e-14


@pytest.mark.slow
def test_the_governor_agrees_with_the_published_values_to_their_last_digit():
    times, height = times_and_values(GOVERNOR)
    assert np.max(np.abs(Governor().states(times, 1e-8)["height"][1:] - height)) < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("precession", [0.0, -5.0])
def test_the_top_keeps_its_energy_and_its_momentum_about_the_vertical(precession):
    top = Top(mass=0.5, distance=0.05, across=1.65e-3, along=5e-4)
    spin, step = 200.0, 1e-4
    times = np.array([0.0, 0.1, 0.37])
    grid = times[:, None] + step * np.arange(-2, 3)
    axis = top.axis(grid.ravel(), spin, 0.5, precession).reshape(3, *grid.shape)
    rate = axis @ np.array([1, -8, 0, 8, -1]) / (12 * step)
    axis = axis[:, :, 2]
    height = top.mass * top.gravity * top.distance * axis[2]
    energy = top.across / 2 * np.sum(rate**2, axis=0) + height
    about = top.across * (axis[0] * rate[1] - axis[1] * rate[0]) + top.along * spin * axis[2]
    # The fifth derivative: nutation at B s/A = 61 rad/s, of rates of some 5 rad/s.
    error = step**4 * 61.0**4 / 30
    assert np.ptp(energy) < 20 * error * np.max(np.abs(height))
    assert np.ptp(about) < 20 * error * top.across * 5


@pytest.mark.parametrize("links", [1, 3])
def test_the_chain_keeps_its_energy(links):
    step = 1e-3
    times = np.array([0.0, 1.0 - 2 * step, 1.0 - step, 1.0, 1.0 + step, 1.0 + 2 * step])
    theta = chain_angles(links, times, 1.0)
    rate = theta[:, 1:] @ np.array([1, -8, 0, 8, -1]) / (12 * step)
    energies = [energy(theta[:, 0], np.zeros(links)), energy(theta[:, 3], rate)]
    assert abs(energies[1] - energies[0]) < 1e-9 * abs(energies[0])


def energy(theta, rate):
    """By the velocities and heights of the rods' ends."""
    along = np.stack([np.sin(theta), -np.cos(theta)])
    turning = np.stack([np.cos(theta), np.sin(theta)]) * rate
    ends = np.cumsum(np.column_stack([np.zeros(2), along]), axis=1)
    speeds = np.cumsum(np.column_stack([np.zeros(2), turning]), axis=1)
    a, b = speeds[:, :-1], speeds[:, 1:]
    kinetic = np.sum(a * a + a * b + b * b) / 6
    return kinetic + 9.81 * np.sum(ends[1, :-1] + ends[1, 1:]) / 2
