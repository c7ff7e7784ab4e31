"""What `print` shows of results that hold arrays: a few lines, with the numbers that matter."""

import math
import re

import casadi as ca
import pytest

import daesolve as ds


def oscillator() -> ds.MechanicalSystem:
    q, p = ds.coordinates(x="m"), ds.parameters(k=(4.0, "N/m"))
    return ds.MechanicalSystem(q, p, kinetic=q.dot.x**2 / 2, potential=p.k * q.x**2 / 2)


def test_a_sensitivity_prints_a_line_for_each_parameter() -> None:
    shown = str(ds.analysis.sensitivity(oscillator(), 2.0, {"x": 1.0}, by=["k", "x"]))
    # x = cos(sqrt(k) t)
    by_k = -math.sin(4.0) / 2, -math.sin(4.0) / 4 - math.cos(4.0)
    assert shown.splitlines() == [
        "derivatives of the state at t = 2 s",
        f"  by k: x {by_k[0]:.6g}, x_dot {by_k[1]:.6g}",
        f"  by x: x {math.cos(4.0):.6g}, x_dot {-2 * math.sin(4.0):.6g}",
    ]


def test_a_section_prints_its_passages_and_ranges() -> None:
    system = oscillator()
    section = ds.analysis.sections(system, system.dynamics.x[0], 20.0, {"x": 1.0})
    first, *lines = str(section).splitlines()
    last = 12.5 * math.pi / 2
    assert first == f"13 passages of 'section', t = {math.pi / 4:.10g} s to {last:.10g} s"
    assert "  x_dot from -2 to 2 m/s" in lines
    never = ds.analysis.sections(system, system.dynamics.x[0] - 3, 20.0, {"x": 1.0})
    assert str(never) == "0 passages of 'section'"


@pytest.mark.slow
def test_an_exponent_and_a_verification_print_their_verdicts() -> None:
    exponent = ds.analysis.lyapunov_exponent(oscillator(), 50.0, {"x": 1.0}, count=2)
    assert re.fullmatch(r"2 of 2 exponents: .* 1/s, regular, measured over \S+ s", str(exponent))
    run = ds.solve(oscillator(), 20.0, {"x": 1.0}, verify=True)
    assert run.verification is not None
    against, *states, growth = str(run.verification).splitlines()
    assert against == f"against {run.verification.against}"
    assert [line.split()[0] for line in states] == ["x", "x_dot"]
    assert growth == "small errors grow: regular"


@pytest.mark.slow
def test_a_chaotic_verification_prints_the_time_in_which_errors_grow() -> None:
    q = ds.coordinates(a="rad", b="rad")
    bend = ca.cos(q.a - q.b)
    double = ds.MechanicalSystem(
        q,
        kinetic=q.dot.a**2 + q.dot.b**2 / 2 + bend * q.dot.a * q.dot.b,
        potential=-9.81 * (2 * ca.cos(q.a) + ca.cos(q.b)),
    )
    run = ds.solve(double, 60.0, {"a": 2.0, "b": 2.5}, verify=True)
    assert run.verification is not None
    shown = str(run.verification)
    time = run.verification.lyapunov_time
    assert f"small errors grow: exponential, e-fold in {time:.3g} s" in shown
