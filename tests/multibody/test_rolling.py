"""Bodies that roll on a plane, against Newton and Euler and against steady motions."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import daesolve as ds
from daesolve.errors import PosingError
from daesolve.multibody.bodies import Body
from daesolve.multibody.mechanism import Mechanism
from daesolve.multibody.places import GROUND
from daesolve.multibody.plane_contact import Rolling
from daesolve.multibody.surfaces import Disc, Sphere, Spindle, Surface, Torus
from tests.reference.rolling_disc import Disc as ReferenceDisc

GRAVITY = 9.81
KNIFE = ReferenceDisc()


def leaned(lean: float) -> tuple[np.ndarray, np.ndarray]:
    """Return axes as columns, and the quaternion: heading along x, axis 3 to the left, raised."""
    along, left = np.eye(3)[0], np.array([0.0, math.cos(lean), math.sin(lean)])
    axes = np.column_stack([np.cross(along, left), along, left])
    x, y, z, w = Rotation.from_matrix(axes).as_quat()
    return axes, np.array([w, x, y, z])


def rolling_body(
    surface: Surface,
    lowest: np.ndarray,
    lean: float,
    omega: np.ndarray,
    mass: float,
    moments: tuple[float, float],
    axisymmetric: bool,
) -> Mechanism:
    """Return a body whose lowest point and angular velocity (both in space) are known."""
    axes, quaternion = leaned(lean)
    across, along = moments
    body = Body(
        "wheel",
        mass,
        (across, across, along),
        axisymmetric=axisymmetric,
        position=-lowest,
        rotation=quaternion,
        velocity=-np.cross(omega, lowest),
        angular_velocity=axes.T @ omega,
    )
    return Mechanism([body], [Rolling("road", body.frame(), surface)], gravity=(0, 0, -GRAVITY))


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("axisymmetric", [True, False])
def test_a_disc_rolls_as_newton_and_euler_say(axisymmetric: bool) -> None:
    start = {"beta": 0.5, "alpha_dot": -5.0, "beta_dot": 0.0, "gamma_dot": 10.0}
    times = np.array([0.25, 0.5, 1.0])
    axes, _ = leaned(start["beta"])
    omega = start["alpha_dot"] * np.eye(3)[2] + start["gamma_dot"] * axes[:, 2]
    wheel = rolling_body(
        Disc(KNIFE.radius),
        -KNIFE.radius * axes[:, 0],
        start["beta"],
        omega,
        KNIFE.mass,
        (KNIFE.diameter, KNIFE.axle),
        axisymmetric,
    )
    run = ds.solve(wheel.system(), until=1.0, initial=wheel.start, at=times)
    expected = KNIFE.states(times, start)
    for name in ("x", "y"):
        moved = run[f"wheel_{name}"] - wheel.start[f"wheel_{name}"]
        assert np.max(np.abs(moved - expected[name])) < 1e-10, name
    height = KNIFE.radius * np.cos(expected["beta"])
    assert np.max(np.abs(run["wheel_z"] - height)) < 1e-10
    assert np.max(np.abs(run.reactions["road_normal"] - expected["normal"])) < 1e-9
    for goal, drift in run.drift.items():
        assert drift.max_relative < 1e-12, goal


def steady_spin(
    lowest: np.ndarray, lean: float, turn: float, mass: float, moments: tuple[float, float]
) -> float:
    """Return the spin s about the axis with which a body goes round at the rate `turn`, leaned.

    All vectors turn with omega_0 = turn e_z: d/dt = omega_0 x. With F = m (a + g e_z),
    omega_0 x L = r x F, which is linear in the spin.
    """
    axes, _ = leaned(lean)
    across, along = moments
    upwards = np.eye(3)[2]

    def unbalanced(spin: float) -> float:
        omega = turn * upwards + spin * axes[:, 2]
        about = (omega @ axes[:, 2]) * axes[:, 2]
        momentum = along * about + across * (omega - about)
        acceleration = np.cross(turn * upwards, -np.cross(omega, lowest))
        force = mass * (acceleration + GRAVITY * upwards)
        return float((np.cross(turn * upwards, momentum) - np.cross(lowest, force))[0])

    at_zero = unbalanced(0.0)
    return at_zero / (at_zero - unbalanced(1.0))


def test_a_torus_goes_round_a_circle_in_its_steady_lean() -> None:
    radius, tube, lean, turn, mass, moments = 0.3, 0.05, 0.2, -1.5, 2.0, (0.05, 0.09)
    axes, _ = leaned(lean)
    lowest = -radius * axes[:, 0] - tube * np.eye(3)[2]
    spin = steady_spin(lowest, lean, turn, mass, moments)
    omega = turn * np.eye(3)[2] + spin * axes[:, 2]
    wheel = rolling_body(Torus(radius, tube), lowest, lean, omega, mass, moments, True)
    once = 2 * math.pi / abs(turn)
    run = ds.solve(wheel.system(), until=once, initial=wheel.start)
    assert np.max(np.abs(run["wheel_z"] - wheel.start["wheel_z"])) < 1e-12
    assert np.ptp(run["wheel_x"]) > 1.0
    assert abs(run["wheel_x"][-1] - wheel.start["wheel_x"]) < 1e-11
    assert np.max(np.abs(run.reactions["road_normal"] - mass * GRAVITY)) < 1e-10


def test_a_ball_rolls_down_a_slope_at_five_sevenths_of_the_acceleration_of_sliding() -> None:
    radius, slope, mass = 0.1, 0.3, 2.0
    inertia = 0.4 * mass * radius**2
    normal = np.array([math.sin(slope), 0.0, math.cos(slope)])
    ball = Body(
        "ball",
        mass,
        (inertia, inertia, inertia),
        position=radius * normal,
        velocity=(0.0, 0.7, 0.0),
        angular_velocity=np.cross(normal, [0.0, 0.7, 0.0]) / radius,
    )
    plane = GROUND.frame((0, 0, 0), axes=normal)
    hill = Mechanism(
        [ball], [Rolling("hill", ball.frame(), Sphere(radius), plane)], gravity=(0, 0, -GRAVITY)
    )
    run = ds.solve(hill.system(), until=1.0, initial=hill.start)
    fallen = 5 / 14 * GRAVITY * math.sin(slope)
    assert run["ball_y"][-1] == pytest.approx(0.7, abs=1e-12)
    down = np.array([run[f"ball_{name}"][-1] for name in "xz"])
    expected = radius * normal[[0, 2]] + fallen * np.array([math.cos(slope), -math.sin(slope)])
    assert down == pytest.approx(expected, abs=1e-12)
    assert run["hill_z"][-1] == pytest.approx(-fallen * math.sin(slope), abs=1e-12)


def test_what_cannot_roll_is_refused() -> None:
    roller = Body("roller", 1.0, (1.0, 1.0, 1.0))
    with pytest.raises(PosingError, match="cannot roll on a Spindle"):
        Rolling("road", roller.frame(), Spindle(0.05, 0.03))
    with pytest.raises(PosingError, match="the name of a contact must be a word"):
        Rolling("1", roller.frame(), Sphere(0.05))
