"""Each program on its smallest task, in a process of its own: what is judged, never how fast."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from unittest.mock import patch

import pytest

from .programs import PROGRAMS, ROOT, program

SMALL = {
    "benchmarks.batches": "--members 16 --until 5 --repeats 1 --ensemble hoop-300 "
    "--ensemble sections-300 --ensemble exponent-300 --ensemble same-300",
    "benchmarks.contact": "--contacts 1 --calls 2 --repeats 1 --short",
    "benchmarks.first_run": "--task pendulum --until 1",
    "benchmarks.history": "measure --changed --rows rows.jsonl --figure pendulum --figure hoop "
    "--repeats 2 --rounds 1",
    "benchmarks.identification": "--repetitions 3",
    "benchmarks.importers": "--case 'bouncing-ball rides'",
    "benchmarks.landing": "--scene ball --halvings 1",
    "benchmarks.live": "--page hoop --until 2 --repeats 1",
    "benchmarks.live_cases": "--problem particle-on-circle",
    "benchmarks.long_horizon": "--quick --motion skate --motion pendulum",
    "benchmarks.long_horizon.offsets": "--rate 1 --rate 3 --until 2000",
    "benchmarks.long_horizon.work": "--rate 3 --until 1000",
    "benchmarks.long_runs": "--part drift --part store --until 20 --horizon 10 "
    "--formulation driven --repeats 1",
    "benchmarks.models": f"{ROOT}/benchmarks/referee/connect.xml --until 0.5",
    "benchmarks.models.precision": f"{ROOT}/benchmarks/referee/connect.xml --until 0.1",
    "benchmarks.omni_friction": "--model reduced --until 0.01 --repeats 1",
    "benchmarks.omni_rolling.run": "--case twist --until 10 --repeats 1",
    "benchmarks.peers": "--quick --peer scipy",
    "benchmarks.pendulum_chain": "--rods 2 --rods 3 --until 0.1 --patience 0.3 --package daesolve",
    "benchmarks.optimal_control": "--own",
    "benchmarks.periodic_orbits": "--repeats 1",
    "benchmarks.referee": "--loop weld --until 0.5",
    "benchmarks.rolling_wheel": "--case hoop --until 1 --repeats 1",
    "benchmarks.accuracy": "--case pendulum --repeats 1",
    "benchmarks.driven": "--points 20 --samples 200",
    "benchmarks.enclosed_gallery": "--only pendulum bicycle --until 0.2 --budget 1",
    "benchmarks.enclosures": "--until 1 --slices 0.05",
    "benchmarks.events": "--case blow --repeats 1",
    "benchmarks.simulator": "--case cart-pole --repeats 1",
    "benchmarks.step_checks": "--case hoop --until 1 --repeats 1",
    "benchmarks.stewart": "--part runs --repeats 1",
    "benchmarks.taylor_engines": "--case pendulum --repeats 1",
    "benchmarks.variants": "--pairs 2 --pairs 4 --members 3",
}
QUICK = "benchmarks.variants"


def ran(folder, name, *options):
    """What a program printed, and what it wrote as JSON."""
    program(name)
    if find_spec("heyoka") is None:
        pytest.skip("heyoka is not installed")
    if name.startswith("benchmarks.live") and not (
        find_spec("ziglang") and shutil.which("chromium")
    ):
        pytest.skip("live pages need the package ziglang and Chromium")
    if name == "benchmarks.omni_rolling.run" and shutil.which("cc") is None:
        pytest.skip("there is no C compiler here")
    ended = subprocess.run(
        [sys.executable, "-m", name, *shlex.split(SMALL[name]), "--json", "found.json", *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout, json.loads((folder / "found.json").read_text())["measurements"]


def ran_here(capsys, *options):
    """What the quickest printed and wrote, in this process and directory."""
    with patch.object(
        sys, "argv", [QUICK, *SMALL[QUICK].split(), "--json", "found.json", *options]
    ):
        program(QUICK).main()
    return capsys.readouterr().out, json.loads(Path("found.json").read_text())["measurements"]


def test_every_program_has_a_smallest_task():
    assert set(SMALL) == set(PROGRAMS)


@pytest.mark.slow
def test_variants_are_found_and_read_back_into_a_document(tmp_path, monkeypatch, capsys):
    page = tmp_path / "page.md"
    page.write_text("# Page\n\n<!-- measured: begin --><!-- measured: end -->\n")
    monkeypatch.chdir(tmp_path)
    printed, found = ran_here(capsys, "--update", "page.md")
    assert printed.strip() in page.read_text()
    assert len(found) == 2 * 2 * 7
    assert all(one["wrong"] == 0 for one in found)
    sure = ("enumeration", "branch and bound, all", "branch and bound, one")
    assert all(one["found"] == one["solvable"] for one in found if one["method"] in sure)
    again, same = ran_here(capsys, "--read", "found.json")
    assert (again, same) == (printed, found)


@pytest.mark.long
def test_batches_are_measured_beside_runs_one_by_one(tmp_path):
    printed, found = ran(tmp_path, "benchmarks.batches")
    assert [one["name"] for one in found] == ["one by one", "in lanes"] * 4
    for one in found:  # parts are timed one after the other, and make up less than all
        assert 0 < one["prepare"] + one["integrate"] < one["total"]
        assert 0 < one["steps"] < one["integrate"]
        assert one["difference"] < 1e-12
    assert "| hoop-300, 16 | one by one |" in printed


@pytest.mark.long
def test_the_truth_is_counted_in_intervals(tmp_path):
    printed, found = ran(tmp_path, "benchmarks.identification")
    assert [one["unknown"] for one in found] == ["c0", "mom"]
    assert all(0 <= one["inside"] <= one["repetitions"] == 3 for one in found)
    assert "| c0 |" in printed


@pytest.mark.long
def test_a_first_run_compiles_and_the_next_one_does_not(tmp_path):
    printed, found = ran(tmp_path, "benchmarks.first_run")
    cold, warm = found
    assert (cold["cold"], warm["cold"]) == (True, False)
    assert "march" in cold["compiled"]
    assert cold["compile"] > 0
    assert (warm["compile"], warm["compiled"]) == (0, {})
    assert all(0 < one["start"] + one["prepare"] + one["integrate"] < one["total"] for one in found)
    assert "| pendulum | cold |" in printed


@pytest.mark.long
def test_long_runs_are_right_and_alike_in_memory_and_on_disk(tmp_path):
    printed, found = ran(tmp_path, "benchmarks.long_runs")
    drift, memory, disk = found
    assert [one["part"] for one in found] == ["drift", "store", "store"]
    assert all(one["outcome"] == "completed" for one in found)
    assert all(one["state_error"] < 1e-13 and one["energy_error"] < 1e-14 for one in found)
    assert drift["steps"] > memory["steps"] == disk["steps"]
    assert memory["state_error"] == disk["state_error"]
    assert "of the work in memory" in printed


@pytest.mark.long
def test_long_horizons_end_where_exact_solutions_say(tmp_path):
    _, found = ran(tmp_path, "benchmarks.long_horizon")
    from benchmarks.long_horizon.measuring import STEPS  # not where the program is skipped

    assert len(found) == 2 * (2 + sum(map(len, STEPS.values())))
    # 100 s are 1500 steps: rounding, and truncation of order 8 at its coarsest step, 1/16 s
    bounds = {"Gauss 16": 1e-8, "RATTLE 8": 1e-6}
    assert all(one["error"] < bounds.get(one["method"], 1e-12) for one in found)
    assert all(one["energy"] < bounds.get(one["method"], 1e-13) for one in found)


@pytest.mark.long
def test_the_phase_is_off_as_far_as_the_offsets_that_feedback_holds_say(tmp_path):
    _, found = ran(tmp_path, "benchmarks.long_horizon.offsets")
    assert [one["rate"] for one in found] == [1.0, 3.0]
    for one in found:
        # samples are rounded to 1e-16 of a metre, and of 20 000 the mean to 1e-18; pushes change
        assert one["expected"] == pytest.approx(one["found"], rel=0.2, abs=2e-18)
        assert one["found"] > 5e-18


@pytest.mark.long
def test_the_energy_goes_where_reactions_work_on_residuals(tmp_path):
    _, (found,) = ran(tmp_path, "benchmarks.long_horizon.work")
    # Over stretches of 20 s, noise of 1000 samples beside the walk of the energy.
    assert found["together"] > 0.3
    mean, error = found["rest"]
    assert abs(mean) < 4 * error


@pytest.mark.long
def test_the_vehicle_with_friction_is_measured(tmp_path):
    _, (found,) = ran(tmp_path, "benchmarks.omni_friction")
    assert found["model"] == "reduced"
    # it rolls at 1 m/s and has hardly been braked: mu g t^2 / 2 < 1e-3 m
    assert 0.009 < found["x"] < 0.01
    assert found["prepare"] > 0
    assert found["integrate"] > 0


@pytest.mark.long
def test_the_vehicle_takes_the_same_switches_as_the_program_by_hand(tmp_path):
    _, found = ran(tmp_path, "benchmarks.omni_rolling.run")
    assert len(found) == 9
    assert {one["first"]["switches"] for one in found} == {32}
    bounds = {"C by hand, DOP853 1e-8": 1e-5, "C by hand, DOP853 1e-12": 1e-8}
    bounds |= {"C by hand, DOP853 3e-14": 1e-9, "daesolve compact, optimised, 1e-12, taylor": 1e-9}
    bounds["daesolve compact, 1e-11, taylor"] = 1e-8
    for one in found:
        assert one["first"]["error"] < bounds.get(one["name"], 1e-12), one["name"]


@pytest.mark.long
def test_packages_are_compared_on_the_pendulum(tmp_path):
    _, found = ran(tmp_path, "benchmarks.peers")
    assert {one["peer"] for one in found} == {"daesolve", "scipy"}
    least = {
        peer: min(one["error"] for one in found if one["peer"] == peer and not one["reason"])
        for peer in ("daesolve", "scipy")
    }
    assert least["daesolve"] < 1e-13
    assert least["scipy"] < 1e-5  # the coarse ones come first; patience ends where it is slow


@pytest.mark.long
def test_a_block_comes_to_rest_where_it_should_by_events_and_nearly_by_steps(tmp_path):
    _, found = ran(tmp_path, "benchmarks.contact")
    rests = {(one["body"], one["method"], one["setting"]): one for one in found if "body" in one}
    assert rests["block", "daesolve, events", "taylor"]["error"] <= 1e-12
    assert rests["box", "daesolve, events", "taylor"]["error"] <= 1e-12
    assert 0.0 < rests["block", "daesolve, Moreau", "step 0.001"]["error"] <= 1e-5
    assert 0.0 < rests["box", "daesolve, Moreau", "step 0.001"]["error"] <= 2e-2
    (costs,) = (one for one in found if "contacts" in one)
    assert costs["contacts"] == 1


@pytest.mark.long
def test_chains_end_where_they_should(tmp_path):
    _, found = ran(tmp_path, "benchmarks.pendulum_chain")
    assert [one["reason"] for one in found] == [""] * 6
    bounds = {"2e-16": 1e-13, "1e-09": 1e-9, "1e-08": 1e-8}
    assert all(one["error"] < bounds[one["accuracy"]] for one in found)
    assert all(one["gap"] < bounds[one["accuracy"]] for one in found)


@pytest.mark.long
def test_the_wheel_ends_where_it_should_in_every_way(tmp_path):
    printed, found = ran(tmp_path, "benchmarks.rolling_wheel")
    assert len(found) == 9
    bounds = {"cvodes 1e-12": 1e-9, "SciPy DOP853 1e-12, compiled": 1e-11}
    bounds["SciPy DOP853, plain Python"] = 1e-11
    assert all(one["error"] < bounds.get(one["name"], 1e-14) for one in found)
    assert "/ limit" in printed


@pytest.mark.long
def test_the_platform_ends_in_one_place_in_both_packages(tmp_path):
    printed, found = ran(tmp_path, "benchmarks.stewart")
    own = {one["setting"]: one for one in found if one["method"] == "taylor"}
    assert own["as it comes"]["error"] == 0.0
    assert own["rtol 1e-11"]["error"] < 1e-11
    if find_spec("exudyn") is None:
        return
    steps = sorted((one["steps"], one["error"]) for one in found if one["package"] == "exudyn")
    assert len(steps) == 10
    # Of order 2: a step that is 20 times shorter leaves a 400th part of the error.
    assert 300 < steps[0][1] / steps[-1][1] < 500
    assert "fall with the powers" in printed


@pytest.mark.long
def test_what_drives_a_system_is_followed_piece_by_piece(tmp_path):
    table, found = ran(tmp_path, "benchmarks.driven")
    assert "a sampled law" in table
    # Twenty pieces and two hundred samples of motions of order one.
    exact = [one["error"] for one in found if one["method"] in ("a table", "a sampled law")]
    assert len(exact) == 3
    assert max(exact) <= 1e-13


@pytest.mark.long
def test_certified_boxes_are_narrow_and_have_a_point_in_common_with_others(tmp_path):
    pytest.importorskip("flint")
    table, found = ran(tmp_path, "benchmarks.enclosures")
    own = [one["width"] for one in found if one["by"] == "daesolve"]
    assert len(own) == 2
    assert max(own) < 1e-24
    assert ("codac" in table) == (find_spec("codac") is not None)


@pytest.mark.long
def test_certificates_of_the_gallery_end_where_their_budget_does(tmp_path):
    pytest.importorskip("flint")
    _, found = ran(tmp_path, "benchmarks.enclosed_gallery")
    proved = {one["name"]: one for one in found}
    assert proved["pendulum"]["reached"] == 0.2
    assert proved["pendulum"]["message"] == ""
    assert "processor time" in proved["bicycle"]["message"]


@pytest.mark.long
def test_orbits_have_the_digits_that_three_routes_agree_to(tmp_path):
    printed, found = ran(tmp_path, "benchmarks.periodic_orbits")
    assert "| walker | SciPy with slopes, 1e-13 |" in printed
    for one in found:
        if one["method"].startswith("daesolve"):
            # The references agree to 2e-15 in the state, to 5e-13 in the multipliers.
            assert one["state"] < 5e-15
            assert one["multipliers"] < 1e-12
        else:  # differences of 1e-7 leave 1e-16 / 1e-7 at best
            assert one["multipliers"] < 1e-2


@pytest.mark.long
def test_steps_from_python_are_right_to_rounding_and_beside_those_of_mujoco(tmp_path):
    pytest.importorskip("mujoco")
    printed, found = ran(tmp_path, "benchmarks.simulator")
    assert "daesolve" in printed
    own = [one["error"] for one in found if one["package"] == "daesolve"]
    # A thousand steps of a motion of order one, each to rounding.
    assert len(own) == 2
    assert max(own) <= 1e-13
    assert len(found) > len(own)


@pytest.mark.long
def test_each_tool_that_is_here_simulates_a_unit(tmp_path):
    pytest.importorskip("fmpy")
    table, found = ran(tmp_path, "benchmarks.importers")
    assert "no finding" in table
    apart = {one["tool"]: one["apart"] for one in found}
    assert len(apart) == 5
    # CVode at the tolerance that it takes; the others integrate in the unit.
    assert apart.pop("FMPy, Model Exchange") < 1e-9
    assert max(apart.values()) < 1e-12


@pytest.mark.long
def test_a_loop_stays_closed_beside_one_that_gapes(tmp_path):
    pytest.importorskip("mujoco")
    _, found = ran(tmp_path, "benchmarks.referee")
    own, standard, hardest = found
    assert own["gap"] <= 1e-14
    assert own["drift"] <= 1e-13
    assert standard["gap"] > 1e3 * hardest["gap"] > 1e6 * own["gap"]


@pytest.mark.long
def test_a_model_file_accelerates_as_in_mujoco(tmp_path):
    pytest.importorskip("mujoco")
    table, (found,) = ran(tmp_path, "benchmarks.models")
    assert "referee/connect.xml" in table
    assert found["acceleration"] <= 1e-12
    assert found["residual"] <= 1e-14


@pytest.mark.slow
def test_a_ball_lands_slides_and_rolls_as_a_closed_form_says(tmp_path):
    pytest.importorskip("mujoco")
    table, found = ran(tmp_path, "benchmarks.landing")
    assert "| ball | daesolve |" in table
    own, *others = found
    assert max(own["error"], own["sinks_in"]) <= 1e-13
    assert len(others) == 4
    assert min(other["error"] for other in others) > 1e-6


@pytest.mark.long
def test_errors_of_a_model_file_fall_with_the_tolerance(tmp_path):
    pytest.importorskip("mujoco")
    table, found = ran(tmp_path, "benchmarks.models.precision")
    assert "referee/connect.xml" in table
    own = [row["error"] for row in found if "MuJoCo" not in row["by"]]
    assert max(own) <= 1e-4
    assert own[-1] <= 1e-6


@pytest.mark.long
def test_a_row_of_the_history_has_a_ratio_for_each_figure(tmp_path):
    if not (ROOT / ".git").exists():
        pytest.skip("there are no commits here")
    _, found = ran(tmp_path, "benchmarks.history")
    assert [one["figure"] for one in found] == ["pendulum"] * 2 + ["hoop"] * 2
    assert not any(one["reason"] for one in found)
    (row,) = map(json.loads, (tmp_path / "rows.jsonl").read_text().splitlines())
    assert set(row["ratios"]) == {"pendulum", "hoop"}
    assert all(0 < low <= median <= high for low, median, high in row["ratios"].values())


@pytest.mark.long
def test_cases_of_the_gallery_end_in_their_pages_where_solve_does(tmp_path):
    printed, found = ran(tmp_path, "benchmarks.live_cases")
    assert [one["case"] for one in found] == ["particle-on-circle accelerate"]
    assert found[0]["difference"] < 1e-11
    assert re.search(r"1 of \d+ cases: 1 are live", printed)
