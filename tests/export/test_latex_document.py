"""Documents of equations: what they hold, and that LaTeX compiles them."""

import casadi as ca
import pytest

import daesolve as ds
from daesolve.errors import OutputExistsError, StorageError, UnknownNameError
from daesolve.plugins import registry
from tests.latex import compiled

EVERY = [(p.name, model) for p in registry.problems()[0] for model in p.models]


def case_of(name, model):
    """Return the first case of a model, else the first case with the model in place of its own."""
    problem = registry.problem(name)
    default = next(iter(problem.models))
    own = [case.name for case in problem.cases if (case.model or default) == model]
    return problem.case(own[0]) if own else problem.case(model=model)


def blade():
    q = ds.coordinates(x="m", y="m", phi="rad")
    p = ds.parameters(mass=1.0, inertia=0.1)
    slip = ca.cos(q.phi) * q.dot.y - ca.sin(q.phi) * q.dot.x
    kinetic = p.mass * (q.dot.x**2 + q.dot.y**2) / 2 + p.inertia * q.dot.phi**2 / 2
    return q, p, kinetic, slip


@pytest.mark.slow
@pytest.mark.slow_rows("False")
@pytest.mark.parametrize("reduced", [False, True])
def test_names_of_any_letters_compile(reduced, tmp_path):
    q, p, kinetic, slip = blade()
    hostile = "50% of {x} & y_1 #2 ~ ^ \\ $ < > | \" ' `a` µ μ λ é ß 轮 – … \U0001f6de"
    system = ds.MechanicalSystem(
        q,
        p,
        kinetic=kinetic,
        goals=[ds.Nonholonomic(hostile, slip), ds.Invariant("kept $x$", q.dot.phi)],
        events=[ds.Event("half way 100%", q.x - 1.0, ds.RISING, then=ds.Stop())],
    )
    text = system.to_latex(reduced=reduced, title=hostile)
    assert compiled(text, tmp_path) < 1.0


@pytest.mark.slow
@pytest.mark.parametrize("reduced", [False, True])
def test_a_control_system_and_one_that_is_free_compile(reduced, tmp_path):
    x, u = ds.states(position="m", speed="m/s"), ds.reactions(force="N")
    track = ds.Goal("track", x.position - ca.sin(ds.time))
    rate = {"position": x.speed, "speed": u.force / 2.0}
    cart = ds.ControlSystem(x, rate, controls=u, goals=[track])
    q, p, kinetic, _ = blade()
    free = ds.MechanicalSystem(q, p, kinetic=kinetic)
    still = ds.MechanicalSystem(
        q, p, kinetic=kinetic, goals=[ds.Holonomic(f"{n}_held", q[n]) for n in ("x", "y", "phi")]
    )
    for system in (cart, free, still):
        text = system.to_latex(reduced=reduced)
        assert "operations; not printed" not in text
        assert compiled(text, tmp_path) < 1.0


def test_a_part_of_a_document_goes_into_another(tmp_path):
    q, p, kinetic, slip = blade()
    system = ds.MechanicalSystem(q, p, kinetic=kinetic, goals=[ds.Nonholonomic("blade", slip)])
    part = system.to_latex(reduced=True, document=False)
    assert "documentclass" not in part
    whole = "\\documentclass{book}\\usepackage{amsmath}\\begin{document}" + part + "\\end{document}"
    assert compiled(whole, tmp_path) < 1.0


def test_a_file_is_written_over_where_an_export_wrote_it_alone(tmp_path):
    q, p, kinetic, slip = blade()
    system = ds.MechanicalSystem(q, p, kinetic=kinetic, goals=[ds.Nonholonomic("blade", slip)])
    file = tmp_path / "new" / "blade.tex"
    text = system.to_latex(file)
    assert file.read_text() == text
    assert system.to_latex(str(file), reduced=True) == file.read_text() != text
    other = tmp_path / "mine.tex"
    other.write_text("mine")
    with pytest.raises(OutputExistsError, match="not an export"):
        system.to_latex(other)
    assert other.read_text() == "mine"
    with pytest.raises((OutputExistsError, StorageError)):
        system.to_latex(other / "below.tex")
    with pytest.raises(UnknownNameError, match="weight"):
        system.to_latex(values={"weight": 1.0})


def test_the_mode_is_that_of_the_given_values():
    q = ds.coordinates(x="m", y="m")
    d = ds.discrete(side=1.0)
    wall = ds.Holonomic("wall", ca.if_else(d.side > 0, q.x, q.y))
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 + q.dot.y**2, goals=[wall], discrete=d)
    first, second = (system.to_latex(reduced=True, values={"side": s}) for s in (1.0, -1.0))
    assert r"\mathrm{side} = 1$" in first
    assert r"w_{1} = \dot{y}" in first
    assert r"\mathrm{side} = -1$" in second
    assert r"w_{1} = \dot{x}" in second


def test_sentences_between_equations_have_commands_and_lines_of_their_own():
    q, p, kinetic, slip = blade()
    system = ds.MechanicalSystem(q, p, kinetic=kinetic, goals=[ds.Nonholonomic("skate", slip)])
    text = system.to_latex(reduced=True)
    assert "Tatarinov" in text
    assert r"T^* = \frac{1}{2} w^{\mathsf{T}} M^* w" in text
    assert r"\\frac" not in text
    assert r"\n$$" not in text


@pytest.mark.long_rows(
    "andrews-angles",
    "omni-laws-friction",
    "omni-rolling-general",
    "rattleback-ellipsoid",
    "rolling-coin-body",
    "three-supports-body",
)
@pytest.mark.long_beyond(6)
@pytest.mark.slow
@pytest.mark.parametrize(("name", "model"), EVERY)
def test_the_equations_of_every_problem_compile(name, model, tmp_path):
    case = case_of(name, model)
    for reduced in (False, True):
        compiled(case.to_latex(reduced=reduced), tmp_path)
