"""A plant in plain C runs without daesolve, and its own test holds."""

import math
import subprocess

import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import OutOfRangeError, OutputExistsError
from daesolve.export.named import LabelledShape, NamedFunction
from tests.export.compiled import COMPILER, built, called, needs_compiler
from tests.export.plants import controlled, driven, quaternion, switched
from tests.export.test_quantities import hanging, pendulum


def run(directory, *command):
    done = subprocess.run(command, cwd=directory, check=True, capture_output=True, text=True)
    assert "warning" not in done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@needs_compiler
def test_the_example_swings_like_the_closed_form(tmp_path):
    """A pendulum of 1.5 m from 0.3 rad: cos and sin by Jacobi's functions, of modulus sin 0.15."""
    from scipy.special import ellipj, ellipk

    directory = pendulum().to_c(tmp_path / "pendulum", hanging(0.3, 0.0), rate=10.0)
    run(directory, "make", f"CC={COMPILER}")
    assert "all numbers agree" in run(directory, "make", f"CC={COMPILER}", "check")
    lines = run(directory, "./main", "2.0", "4000").splitlines()
    assert lines[0] == "time x y x_dot y_dot"
    time, x, y = map(float, lines[11].split()[:3])
    modulus = math.sin(0.15)
    phase = ellipk(modulus**2) - math.sqrt(9.81 / 1.5) * time
    angle = 2 * math.asin(modulus * ellipj(phase, modulus**2)[0])
    # The method of order 4 with h = 5e-4: h^4 times derivatives of order (g/l)^(5/2) ~ 1e2.
    assert x == pytest.approx(1.5 * math.sin(angle), abs=1e-11)
    assert y == pytest.approx(-1.5 * math.cos(angle), abs=1e-11)
    # What a step leaves of the constraint is as small as what it leaves of the motion.
    assert float(lines[-1].split()[-1]) < 1e-11


@pytest.mark.slow_rows("driven", "quaternion", "switched")
@needs_compiler
@pytest.mark.parametrize("pose", [driven, switched, quaternion, controlled])
def test_its_own_test_holds_with_tables_inputs_and_switches(tmp_path, pose):
    directory = pose().to_c(tmp_path / "plant")
    flags = "CFLAGS=-O2 -std=c99 -pedantic -Wall -Wextra -Werror -Wshadow -ffp-contract=off"
    assert "all numbers agree" in run(directory, "make", f"CC={COMPILER}", flags, "check")
    run(directory, "make", f"CC={COMPILER}", flags, "main")
    assert run(directory, "./main", "0.1", "10").startswith("time ")


@pytest.mark.slow
@needs_compiler
def test_a_wrong_number_fails_the_test(tmp_path):
    directory = pendulum().to_c(tmp_path / "plant", hanging(0.3, 0.5))
    source = directory / "plant.c"
    source.write_text(source.read_text().replace("plant_rhs(", "plant_old(", 1))
    text = source.read_text()
    source.write_text(
        text + "void plant_rhs(double t, const double *x, const double *p, double *r)\n"
        "{ plant_old(t, x, p, r); r[2] *= 1.0 + 1e-12; }\n"
    )
    header = directory / "plant.h"
    header.write_text(header.read_text().replace("#ifdef __cplusplus", "void plant_old(double, "
        "const double *, const double *, double *);\n#ifdef __cplusplus", 1))  # fmt: skip
    done = subprocess.run(["make", "check"], cwd=directory, capture_output=True, text=True)
    assert done.returncode != 0
    assert "rhs[2]" in done.stdout


@pytest.mark.slow
@needs_compiler
def test_a_reset_with_an_impact_is_the_projection(tmp_path):
    """The speed along the slot y = sin x, with x' turned round, is projected on the slot."""
    directory = driven().to_c(tmp_path / "plant")
    library = built(directory / "plant.c")
    state = np.array([2.0, math.sin(2.0), 1.0, math.cos(2.0)])
    values = np.array([2.0, 30.0, 0.0, 0.25])
    after, kept = np.zeros(4), np.zeros(4)
    called(library, "plant_reset_strike", 0.0, state, values, np.ones(1), after, kept)
    slope = math.cos(2.0)
    along = (-1.0 + slope * slope) / (1.0 + slope**2)
    assert after == pytest.approx([2.0, math.sin(2.0), along, slope * along], rel=1e-14)
    assert np.array_equal(kept, values)


@needs_compiler
def test_results_may_lie_where_arguments_do(tmp_path):
    library = built(pendulum().to_c(tmp_path / "plant") / "plant.c")
    values = np.array([2.0, 1.5, 9.81])
    apart, state = np.zeros(4), np.array([*hanging(0.3, 0.5).values()])
    called(library, "plant_rhs", 0.0, state, values, apart)
    called(library, "plant_rhs", 0.0, state, values, state)
    assert np.array_equal(state, apart)


def test_names_of_c_and_of_the_code_itself_do_no_harm(tmp_path):
    q = ds.coordinates(lambda_="rad", double="µm", passed="s", M="*/", m="m")
    p = ds.parameters(sin=(1.0, ""), w1=(2.0, ""), state=(3.0, ""), time_=(4.0, ""), M_PI=(1.0, ""))
    kinetic = sum(q.dot[name] ** 2 for name in q.names)
    system = ds.MechanicalSystem(
        q, p, kinetic=kinetic * p.sin * p.w1 * p.M_PI, force={"lambda_": p.state, "M": p.time_}
    )
    module = system.to_python(tmp_path / "plant.py")
    directory = system.to_c(tmp_path / "double")
    if COMPILER is not None:
        assert "agree" in run(directory, "make", f"CC={COMPILER}", "check")
    scope: dict[str, object] = {}
    exec(module.read_text(), scope)
    rates = scope["rhs"](0.0, scope["START"])  # pyright: ignore
    assert rates[5] == 3.0 / 4.0
    assert rates[8] == 4.0 / 4.0


def test_what_is_no_export_is_not_written_over(tmp_path):
    system = pendulum()
    system.to_python(tmp_path / "plant.py")
    system.to_python(tmp_path / "plant.py")
    (tmp_path / "mine.py").write_text("print('mine')\n")
    with pytest.raises(OutputExistsError, match=r"mine\.py"):
        system.to_python(tmp_path / "mine.py")
    (tmp_path / "plant").mkdir()
    (tmp_path / "plant" / "main.c").write_text("int main(void) { return 0; }\n")
    with pytest.raises(OutputExistsError, match=r"main\.c"):
        system.to_c(tmp_path / "plant")
    assert not (tmp_path / "plant" / "plant.c").exists()


def test_names_and_sizes_must_go_together():
    function = pendulum().function("rhs")
    with pytest.raises(ds.errors.PosingError, match="other sizes"):
        NamedFunction(function, function.inputs, {"rhs": LabelledShape(())})


@pytest.mark.parametrize("name", ["plant.c", "plant.h"])
def test_a_directory_is_not_named_like_a_file(tmp_path, name):
    with pytest.raises(OutOfRangeError, match="several files in a directory: write 'plant'"):
        pendulum().to_c(tmp_path / name)
    assert not (tmp_path / name).exists()
