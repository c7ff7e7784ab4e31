"""Pads as expressions: right, smooth, a potential, and fit for every engine of integration."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import daesolve as ds
from daesolve.contact.friction.pads import Pad, PadNodes, pad_nodes, reduced_friction
from daesolve.core.expressions.translation import NUMPY_TABLE, function_of, missing_operations
from daesolve.core.solvers.heyoka_code import heyoka_table
from daesolve.errors import OutOfRangeError, PosingError
from tests.reference.pad_integrals import reduced_friction_double, uniform_friction

SPEED, SPIN = ca.SX.sym("speed"), ca.SX.sym("spin")
EXPONENTS = [-0.5, 0.0, 1.0, 2.0]


def friction(pad, radius=1.0):
    """Return f' and f'' of x as a function, from the traction at |ω| = 1."""
    along, about = pad.traction((radius * SPEED) ** 2, ca.SX(1.0))
    return ca.Function("friction", [SPEED], [along * radius * SPEED, about / radius])


def forces(pad):
    """Return (|V|, ω) -> the force along V and the moment, both taken positive."""
    along, about = pad.traction(SPEED**2, SPIN)
    return ca.vertcat(along * SPEED, about * SPIN)


class TestUniformPressure:
    @pytest.mark.parametrize("ratio", [0.0, *10.0 ** np.arange(-12.0, 13.0, 2.0)])
    def test_friction_is_right_to_1e_14_from_turning_to_sliding(self, ratio):
        force, torque = uniform_friction(ratio)
        sliding, turning = map(float, friction(Pad(1.0))(ratio))
        assert sliding == pytest.approx(float(force), rel=1e-14, abs=0.0)
        assert turning == pytest.approx(float(torque), rel=1e-14, abs=0.0)

    @pytest.mark.parametrize("side", [-1.0, 1.0])
    @pytest.mark.parametrize("distance", [0.0, *10.0 ** np.arange(-16.0, 0.0, 1.0)])
    def test_friction_is_right_to_1e_14_where_the_rim_comes_to_rest(self, side, distance):
        ratio = 1.0 + side * distance
        force, torque = uniform_friction(ratio)
        sliding, turning = map(float, friction(Pad(1.0))(ratio))
        assert sliding == pytest.approx(float(force), rel=1e-14)
        assert turning == pytest.approx(float(torque), rel=1e-14)

    def test_without_spin_the_force_is_that_of_a_point(self):
        # f' = 1 and r f''/|ω| = r² <ρ²>/(2 |V|) = r²/(4 |V|)
        traction = ca.Function("f", [SPEED, SPIN], list(Pad(0.2).traction(SPEED**2, SPIN)))
        along, about = map(float, traction(3.0, 0.0))
        assert along == pytest.approx(1.0 / 3.0, rel=1e-15)
        assert about == pytest.approx(0.2**2 / (4.0 * 3.0), rel=1e-15)

    def test_the_scale_of_speeds_does_not_matter(self):
        traction = ca.Function("f", [SPEED, SPIN], list(Pad(1.0).traction(SPEED**2, SPIN)))
        usual = np.array(traction(0.7, 1.3)).ravel()
        for scale in (1e-140, 1e140):
            scaled = scale * np.array(traction(0.7 * scale, 1.3 * scale)).ravel()
            assert scaled == pytest.approx(usual, rel=1e-14)

    def test_it_takes_few_instructions(self):
        traction = function_of(
            "f", [SPEED, SPIN], list(Pad(0.1).traction(SPEED, SPIN)), (["s", "w"], ["a", "b"])
        )
        assert traction.n_instructions() < 140


@pytest.mark.default_rows(2)
@pytest.mark.parametrize("exponent", EXPONENTS)
def test_the_expression_is_the_double_integral_of_the_paper(exponent):
    found = friction(Pad(0.3, exponent), radius=0.3)
    for ratio in (1e-2, 0.6, 0.99, 1.0, 1.3, 20.0):
        assert np.array(found(ratio)).ravel() == pytest.approx(
            reduced_friction_double(ratio, exponent), rel=1e-12
        )


@settings(derandomize=True, max_examples=15, deadline=None)
@given(st.sampled_from([-0.8, -0.5, 0.0, 0.3, 1.0, 2.0, 6.0]), st.floats(-6.0, 6.0))
def test_the_expression_agrees_with_the_quadrature(exponent, power):
    ratio = 10.0**power
    expected = [float(value) for value in reduced_friction(ratio, exponent)]
    found = [float(value) for value in friction(Pad(1.0, exponent))(ratio)]
    # At x = 1 friction has the power n + 2 of a distance that is rounded off at 1e-8.
    assert found == pytest.approx(expected, rel=2e-12 + 1e-8 ** (exponent + 2.0), abs=0.0)


@pytest.mark.slow
@settings(derandomize=True, max_examples=15, deadline=None)
@given(
    st.sampled_from([-0.5, 0.0, 0.4, 1.0, 2.0]),
    st.floats(-2.0, 2.0).filter(lambda power: abs(power) > 1e-3),
)
def test_friction_is_the_slope_of_a_convex_potential_of_degree_one(exponent, power):
    pad = Pad(1.0, exponent)
    state = ca.vertcat(SPEED, SPIN)
    potential = pad.mean_speed(SPEED**2, SPIN)
    slope = ca.gradient(potential, state)
    evaluate = ca.Function(
        "f",
        [SPEED, SPIN],
        [forces(pad), slope, ca.jacobian(forces(pad), state), potential],
    )
    speed, spin = 10.0**power, 1.0
    force, gradient, hessian, value = map(np.array, evaluate(speed, spin))
    # Derivatives of a table lose as much as a power of the distance from x = 1, 1e-3 at least.
    tolerance = 1e-13 if exponent == 0.0 else 1e-9
    moving = np.array([[speed], [spin]])
    assert gradient == pytest.approx(force, rel=tolerance)
    assert (force.T @ moving).item() == pytest.approx(value.item(), rel=1e-14)
    # f''_x = -x f'_x: the Hessian is symmetric and has the state as its null vector ...
    size = np.abs(hessian).max()
    assert np.abs(hessian - hessian.T).max() < tolerance * size
    assert np.abs(hessian @ moving).max() < tolerance * size * max(speed, spin)
    # ... and does not bend down in the other direction.
    assert hessian[0, 0] > 0.0
    assert hessian[1, 1] > 0.0


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_only_the_logarithm_at_equal_speeds_limits_derivatives(exponent):
    jacobian = ca.jacobian(
        ca.vertcat(*Pad(1.0, exponent).traction(SPEED, SPIN)), ca.vertcat(SPEED, SPIN)
    )
    evaluate = ca.Function("f", [SPEED, SPIN], [jacobian])
    for squared, spin in ((0.0, 1.0), (1.0, 0.0), (1.0, 1.0), (1.0, -1.0)):
        assert np.isfinite(np.array(evaluate(squared, spin))).all()


@pytest.mark.parametrize("exponent", [0.0, 1.0])
def test_the_radius_may_be_a_parameter(exponent):
    radius = ca.SX.sym("radius")
    posed = ca.Function(
        "f", [SPEED, SPIN, radius], list(Pad(radius, exponent).traction(SPEED**2, SPIN))
    )
    fixed = ca.Function("f", [SPEED, SPIN], list(Pad(0.07, exponent).traction(SPEED**2, SPIN)))
    assert np.array(posed(0.2, 3.0, 0.07)) == pytest.approx(np.array(fixed(0.2, 3.0)), rel=1e-15)


@pytest.mark.parametrize("pad", [Pad(0.1), Pad(0.1, -0.5), Pad(0.1, 0.3), pad_nodes(0.1)])
def test_every_engine_has_the_operations(pad):
    traction = ca.Function("f", [SPEED, SPIN], [ca.vertcat(*pad.traction(SPEED, SPIN))])
    assert missing_operations(traction, heyoka_table()) == ()
    assert missing_operations(traction, NUMPY_TABLE) == ()


def sliding_disc(exponent):
    """Pose a uniform disc that slides and turns on a plane, with a pad as large as itself."""
    q = ds.coordinates(x="m", y="m", phi=ds.ANGLE)
    p = ds.parameters(mass=(1.3, "kg"), radius=(0.1, "m"), load=(12.0, "N"), friction=(0.2, ""))
    rate = q.dot
    pad = Pad(p.radius, exponent)
    speed_squared = rate.x**2 + rate.y**2
    along, about = pad.traction(speed_squared, rate.phi)
    grip = -p.friction * p.load
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=p.mass * (speed_squared + p.radius**2 / 2 * rate.phi**2) / 2,
        force={
            "x": grip * along * rate.x,
            "y": grip * along * rate.y,
            "phi": grip * about * rate.phi,
        },
        outputs={"ratio": (ca.sqrt(speed_squared) / (p.radius * rate.phi), "")},
    )


@pytest.mark.slow
@pytest.mark.parametrize("exponent", [0.0, 2.0])
def test_solvers_agree_on_a_disc_whose_rim_comes_to_rest_on_the_way(exponent):
    system = sliding_disc(exponent)
    start = {"x_dot": 1.3, "y_dot": 0.2, "phi_dot": 12.0}
    names = ("x", "y", "phi", "x_dot", "y_dot", "phi_dot")
    ends = {}
    solvers = {
        "taylor": ds.Taylor(),
        "dop853": ds.Dop853(rtol=1e-12, atol=1e-14),
        "cvodes": ds.Cvodes(rtol=1e-10, atol=1e-12),
    }
    for name, solver in solvers.items():
        run = ds.solve(system, until=0.6, initial=start, solver=solver)
        assert run["ratio"][0] > 1.05
        assert run["ratio"][-1] < 0.85
        ends[name] = np.array([run[state][-1] for state in names])
    # Each solver's tolerance for tens of steps; the angle is the largest, 5 rad.
    assert np.abs(ends["dop853"] - ends["taylor"]).max() < 1e-9
    assert np.abs(ends["cvodes"] - ends["taylor"]).max() < 1e-7


class TestNodes:
    POINTS = np.array([[0.3, 0.4], [-0.2, 0.7], [0.5, -0.1]])
    WEIGHTS = np.array([0.5, 0.2, 0.3])

    def test_they_are_point_supports_with_their_mirror_images(self):
        speed, spin = 0.9, 1.7
        force, moment, mean = np.zeros(2), 0.0, 0.0
        for point, weight in zip(self.POINTS, self.WEIGHTS / 4, strict=True):
            for along, across in point * [[1, 1], [1, -1], [-1, 1], [-1, -1]]:
                velocity = np.array([speed - spin * across, spin * along])
                friction = -weight * velocity / np.linalg.norm(velocity)
                force += friction
                moment += along * friction[1] - across * friction[0]
                mean += weight * np.linalg.norm(velocity)
        nodes = PadNodes(self.POINTS, self.WEIGHTS)
        found = ca.Function("f", [SPEED, SPIN], [forces(nodes), nodes.mean_speed(SPEED**2, SPIN)])(
            speed, spin
        )
        assert abs(force[1]) < 1e-16
        assert np.array(found[0]).ravel() == pytest.approx([-force[0], -moment], rel=1e-14)
        assert float(found[1]) == pytest.approx(mean, rel=1e-14)

    @pytest.mark.default_rows(1)
    @pytest.mark.parametrize("exponent", [-0.5, 2.0])
    def test_they_approach_the_pad(self, exponent):
        ratios = np.array([0.0, 0.3, 0.8, 1.5, 4.0])
        expected = np.array(reduced_friction(ratios, exponent))
        errors = []
        for rings in (3, 9):
            nodes = friction(pad_nodes(0.2, exponent, rings, 4 * rings), radius=0.2)
            found = np.array([np.array(nodes(ratio)).ravel() for ratio in ratios]).T
            errors.append(np.abs(found - expected).max())
        # Friction of a node jumps where it comes to rest: an error of the cells' area there.
        assert errors[1] < 3.0 / 9**2
        assert errors[1] < errors[0] / 3

    def test_nodes_of_a_pad_bear_it_all(self):
        nodes = pad_nodes(0.2, 1.0, rings=3, spokes=5)
        assert nodes.points.shape == (15, 2)
        assert nodes.weights.sum() == pytest.approx(1.0, rel=1e-15)
        assert np.hypot(*nodes.points.T).max() < 0.2

    @pytest.mark.parametrize(
        ("points", "weights", "kind", "words"),
        [
            ([[0.0, 1.0, 0.0]], [1.0], PosingError, r"points \(k, 2\)"),
            ([[0.0, 1.0]], [0.5, 0.5], PosingError, r"weights \(k,\)"),
            ([[0.0, np.nan]], [1.0], OutOfRangeError, "finite coordinates"),
            ([[0.0, 1.0], [0.0, 2.0]], [2.0, -1.0], OutOfRangeError, "positive weights"),
            ([[0.0, 1.0]], [0.9], OutOfRangeError, "add up to 0.9, not 1"),
        ],
    )
    def test_what_are_no_nodes_is_refused(self, points, weights, kind, words):
        with pytest.raises(kind, match=words):
            PadNodes(np.array(points), np.array(weights))

    def test_no_rings_are_refused(self):
        with pytest.raises(OutOfRangeError, match="0 rings"):
            pad_nodes(0.1, rings=0)


@pytest.mark.parametrize("radius", [0.0, -0.1, np.nan, np.inf])
def test_a_radius_that_is_none_is_refused(radius):
    with pytest.raises(OutOfRangeError, match="positive"):
        Pad(radius)
    with pytest.raises(OutOfRangeError, match="positive"):
        pad_nodes(radius)


def test_a_pad_has_one_radius_and_a_number_for_its_exponent():
    with pytest.raises(PosingError, match="one expression"):
        Pad(ca.SX.sym("radius", 2))
    with pytest.raises(PosingError, match="not 'wide'"):
        Pad("wide")
    with pytest.raises(PosingError, match="must be a number"):
        Pad(0.1, ca.SX.sym("exponent"))
