"""Identification of mechanisms with loops: multiple shooting on the manifold."""

import math
from pathlib import Path

import numpy as np
import pytest

import daesolve as ds
from tests.analysis.identification import four_bar
from tests.cli.calling import call, document

TRUTH = {"c0": 4530.0, "mom": 0.033}


@pytest.fixture(scope="module")
def andrews():
    return ds.problem("andrews").case()


@pytest.fixture(scope="module")
def samples(andrews):
    """Return a hundred exact samples of two angles."""
    times = np.linspace(3e-4, 0.03, 100)
    run = andrews.solve(0.03, at=times)
    return {"time": times, "beta": run["beta"], "gamma": run["gamma"]}


@pytest.mark.slow
@pytest.mark.long_rows("both below", "torque below")
@pytest.mark.parametrize(
    "factors",
    [(1.1, 1.1), (0.9, 0.9), (1.1, 0.9), (0.9, 1.1)],
    ids=["both above", "both below", "torque below", "stiffness below"],
)
def test_andrews_is_found_from_ten_percent_beside(andrews, samples, factors):
    begin = {name: value * f for (name, value), f in zip(TRUTH.items(), factors, strict=True)}
    found = ds.identify(andrews.changed(begin), samples, list(TRUTH), noise=1e-3)
    for name, value in TRUTH.items():
        assert abs(found[name] / value - 1.0) < 1e-10
    # Where both are too large or too small, one motion goes astray.
    assert (found.segments > 1) == (factors[0] == factors[1])


@pytest.mark.slow
def test_intervals_cover_the_truth_as_often_as_they_say(andrews, samples):
    count, noise, generator = 30, 1e-3, np.random.default_rng(2)
    inside = 0
    for _ in range(count):
        noisy = {
            name: values + (name != "time") * noise * generator.standard_normal(len(values))
            for name, values in samples.items()
        }
        found = ds.identify(andrews, noisy, list(TRUTH), noise=noise, segments=1)
        inside += sum(
            low <= TRUTH[name] <= high for name in TRUTH for low, high in [found.interval(name)]
        )
    # Pairs of intervals are correlated: at most four deviations of as many independent ones.
    assert abs(inside / (2 * count) - 0.95) < 4 * math.sqrt(0.95 * 0.05 / count)


@pytest.fixture(scope="module")
def linkage():
    return four_bar.problem.case()


@pytest.fixture(scope="module")
def rows(linkage):
    """Return 2000 noisy rows of the crank and the rocker."""
    times = np.linspace(0.002, 4.0, 2000)
    run = linkage.changed({"torque": 0.55, "damping": 0.11}).solve(4.0, at=times)
    noise = 1e-3 * np.random.default_rng(4).standard_normal((2, 2000))
    return {"time": times, "crank": run["crank"] + noise[0], "rocker": run["rocker"] + noise[1]}


@pytest.mark.slow
def test_redundant_inertias_of_a_four_bar_are_named(linkage, rows):
    unknown = ["inertia_crank", "mass_crank", "inertia_rocker", "mass_rocker"]
    case = linkage.changed({"torque": 0.55, "damping": 0.11})
    found = ds.identify(case, rows, unknown, noise=1e-3)
    # By Steiner's theorem, inertia + mass length^2 / 4 about each pivot.
    expected = {"crank": 0.3**2 / 4, "rocker": 0.7**2 / 4}
    for rod, square in expected.items():
        (direction,) = [each for each in found.undetermined if f"mass_{rod}" in each.changes]
        assert direction.exact
        assert not direction.relative
        assert set(direction.changes) == {f"mass_{rod}", f"inertia_{rod}"}
        ratio = direction.changes[f"inertia_{rod}"] / direction.changes[f"mass_{rod}"]
        assert math.isclose(ratio, -square, rel_tol=1e-6)
    assert len(found.undetermined) == 2


@pytest.mark.slow
def test_a_four_bar_is_identified_from_a_file_with_its_report(rows, tmp_path):
    file, problem = tmp_path / "rows.csv", Path(four_bar.__file__)
    table = np.array([*rows.values()]).T
    np.savetxt(file, table, delimiter=",", header=",".join(rows), comments="", fmt="%.17g")
    words = ("identify", problem, "--data", file, "--of", "torque", "--of", "damping")
    found = document(*words, "--out", tmp_path / "out")
    for name, value in (("torque", 0.55), ("damping", 0.11)):
        entry = found["unknowns"][name]
        # Five deviations: one in two million.
        assert abs(entry["value"] - value) < 5 * entry["deviation"]
        assert entry["deviation"] < 1e-3 * value
    assert abs(found["columns"]["crank"]["noise"] / 1e-3 - 1.0) < 5 / math.sqrt(4000)
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Profiles" in page
    assert page.count("<svg") == 2
    printed = call(*words, "--noise", "1e-3").stdout
    assert "torque" in printed
    assert "95 % from" in printed


@pytest.mark.slow
def test_two_files_are_two_experiments_of_one_four_bar(linkage, tmp_path):
    random, words = np.random.default_rng(3), ["identify", Path(four_bar.__file__)]
    for name, torque, until in (("low", 0.55, 1.0), ("high", 0.9, 1.5)):
        times = np.linspace(0.01, until, 60)
        run = linkage.changed({"torque": torque, "damping": 0.11}).solve(until, at=times)
        noisy = [run[rod] + 1e-3 * random.standard_normal(60) for rod in ("crank", "rocker")]
        table = np.array([times, *noisy]).T
        np.savetxt(tmp_path / f"{name}.csv", table, delimiter=",", header="time,crank,rocker",
                   comments="", fmt="%.17g")  # fmt: skip
    words += ["--data", tmp_path / "low.csv", "--data", f"big={tmp_path / 'high.csv'}"]
    words += ["--of", "damping", "--of", "low.torque", "--set", "big.torque=0.9"]
    found = document(*words, "--weight", "big=2", "--out", tmp_path / "out")
    for name, value in (("damping", 0.11), ("low.torque", 0.55)):
        entry = found["unknowns"][name]
        assert abs(entry["value"] - value) < 5 * entry["deviation"]
    assert found["unknowns"]["low.torque"]["unit"] == "N m"
    assert {name: one["rows"] for name, one in found["experiments"].items()} == {
        "low": 60,
        "big": 60,
    }
    assert found["experiments"]["big"]["weight"] == 2.0
    assert set(found["columns"]) == {
        f"{name}.{rod}" for name in ("low", "big") for rod in ("crank", "rocker")
    }
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 3
    same = call(*words[:4], "--data", tmp_path / "low.csv", "--of", "damping", code=2)
    assert "two experiments have the name 'low'" in same.stderr
