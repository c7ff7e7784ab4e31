import casadi as ca
import pytest

import daesolve as ds
from daesolve.export.equation_sections import goal_lines, sections, symbols_of


def told(system):
    return {section.title: section.text for section in sections(system, system.dynamics)}


def test_quasi_velocities_have_their_kinematics_and_trivial_rates_are_left_out():
    q = ds.coordinates(x="m", y="m", phi="rad")
    v = ds.velocities(u="m/s", phi_dot="rad/s")
    sleigh = ds.MechanicalSystem(
        q,
        kinetic=(v.u**2 + v.phi_dot**2) / 2,
        velocities=v,
        kinematics=ca.vertcat(v.u * ca.cos(q.phi), v.u * ca.sin(q.phi), v.phi_dot),
        force={"u": -0.1 * v.u},
    )
    text = told(sleigh)
    assert r"\dot{x} &= u \cos \phi" in text["Kinematics"]
    assert r"\dot{\phi}" not in text["Kinematics"]
    assert "Hamel" in text["Energies"]
    assert "Q_{u} = -0.1 u" in text["Forces"]


def test_a_mass_matrix_is_printed_where_it_is_small_and_counted_where_it_is_large():
    q = ds.coordinates(x="m", y="m")
    p = ds.parameters(mass=1.0)
    small = ds.MechanicalSystem(q, p, mass_matrix=ca.diag(ca.vertcat(p.mass, 2 * p.mass)))
    assert "m & 0 \\\\\n0 & 2 m" in told(small)["Masses"]
    many = ds.coordinates(**{f"x_{k}": "m" for k in range(9)})
    large = ds.MechanicalSystem(many, p, mass_matrix=p.mass * ca.SX.eye(9))
    assert "9 by 9, with 9 entries that are not zero" in told(large)["Masses"]


def test_each_kind_of_goal_has_its_degree_and_what_fulfils_it():
    q = ds.coordinates(x="m", y="m")
    u = ds.reactions(push="N", pull="N")
    w = ds.implicit(alpha="rad")
    goals = [
        ds.Holonomic("line", q.y, ideal=False),
        ds.Nonholonomic("drive", q.dot.x - 1),
        ds.Relation("tie", u.push - u.pull),
        ds.Implicit("angle", w.alpha - q.x, w.alpha),
        ds.Invariant("memory", q.dot.x),
    ]
    system = ds.MechanicalSystem(
        q, kinetic=(q.dot.x**2 + q.dot.y**2) / 2, goals=goals, reactions=u, implicit=w,
        force={"y": u.push + u.pull},
    )  # fmt: skip
    lines = {
        line.name: (line.kind, line.degree, line.reaction)
        for line in goal_lines(system, system.dynamics)
    }
    assert lines["line"] == ("holonomic", "2", "those in the forces")
    assert lines["drive"] == ("nonholonomic", "1", "`drive`")
    assert lines["tie"] == ("relation between reactions", "0", "those in it")
    assert lines["angle"] == ("implicit equation", "tracked", "the unknown `alpha`")
    assert lines["memory"][:2] == ("invariant, measured", "none")
    assert lines["energy"][:2] == ("invariant, automatic", "none")
    assert symbols_of(system)["drive"] == r"\lambda_{\mathrm{drive}}"
    text = told(system)["Goals"]
    assert "`memory` is constant:" in text
    assert r"\dot{x} - 1 = 0" in text


def test_a_control_system_has_its_rates_its_controls_and_the_degree_of_its_goals():
    x = ds.states(place="m", speed="m/s")
    u = ds.reactions(push="N")
    system = ds.ControlSystem(
        x,
        {"place": x.speed, "speed": u.push - x.speed},
        controls=u,
        goals=[ds.Goal("aim", x.place - 1, ideal=False)],
    )
    assert (
        r"\dot{\mathrm{speed}} &= \mathrm{push} - \mathrm{speed}"
        in told(system)["Equations of motion"]
    )
    [line] = goal_lines(system, system.dynamics)
    assert (line.kind, line.degree, line.reaction) == ("control", "2", "the controls")


def test_events_tell_what_they_do():
    q = ds.coordinates(x="m")
    d = ds.discrete(mode=0.0)
    wall = ds.Holonomic("wall", q.x)
    events = [
        ds.Event("hit", q.x, ds.FALLING, ds.Reset(impose=[wall], restitution=0.5)),
        ds.Event("change", q.x - 1, ds.RISING, ds.Reset({"mode": 1.0}) | ds.Record()),
        ds.Event("end", q.x - 2, ds.EITHER, ds.Stop()),
    ]
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, discrete=d, events=events)
    text = told(system)["Events"]
    assert "`hit`, where this falls through zero: an impact imposes `wall`." in text
    assert "`change`, where this rises through zero: `mode` change, it is recorded." in text
    assert "`end`, where this passes through zero: the run ends." in text


def test_pairs_of_supports_are_reported_with_their_places():
    system = ds.problem("prism").case().system
    text = told(system)["Pairs of supports"]
    assert "`normal_1` (two-sided)" in text
    assert r"n_{2,y} &= 1" in text
    assert r"\mu_{1} &= \mu_{\mathrm{upper},1}" in text


@pytest.mark.slow
def test_many_goals_are_counted_and_the_first_are_printed():
    system = ds.problem("bricard").case().system
    assert "The formulas of 23 more goals are not printed" in told(system)["Goals"]
