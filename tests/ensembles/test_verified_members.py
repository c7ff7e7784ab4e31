"""Members of a sweep are repeated as single runs are, and keep what that showed."""

import math
from pathlib import Path

import pytest

import daesolve as ds
from daesolve.ensembles import resume_sweep
from daesolve.ensembles.sweep_results import differences
from daesolve.errors import OutOfRangeError, UnknownNameError
from tests.ensembles.test_batches import SWINGING

MEMBERS = [{"x": -0.9 + 0.1 * k} for k in range(16)]
"""As many as fill the lanes."""


@pytest.mark.long_rows("cvodes")
@pytest.mark.slow
@pytest.mark.parametrize("by", [True, "same", "cvodes"])
def test_each_member_keeps_what_its_own_run_shows(tmp_path: Path, by: bool | str) -> None:
    case = SWINGING.case()
    swept = ds.sweep(
        case, MEMBERS[:2], out=tmp_path / "s", workers=0, until=2.0, at=[1.0, 2.0], verify=by
    )
    for number, row in swept.to_pandas().iterrows():
        run = case.with_values(MEMBERS[int(number)]).solve(2.0, at=[1.0, 2.0], verify=by)
        assert run.verification is not None
        assert row["verified_against"] == run.verification.against
        for name, difference in run.verification.difference.items():
            assert row[f"difference_{name}"] == difference


@pytest.mark.long
def test_members_in_lanes_are_repeated_and_the_largest_difference_is_reported(
    tmp_path: Path,
) -> None:
    swept = ds.sweep(
        SWINGING.case(), MEMBERS, out=tmp_path / "s", workers=0, until=2.0, verify="same"
    )
    table = swept.to_pandas()
    assert table["notes"].str.contains("together with other runs").all()
    for name, largest in differences(swept.directory).items():
        column = table[f"difference_{name}"]
        assert (largest.difference, largest.member) == (column.max(), column.idxmax())
        # Two runs at 2e-16 and tighter over two swings: nothing but rounding.
        assert largest.difference < 1e-13


@pytest.mark.slow
def test_a_sweep_that_goes_on_verifies_the_members_that_are_left(tmp_path: Path, case) -> None:
    one = {"mass": [1.0, 2.0, 3.0]}
    place = tmp_path / "s"

    def stop(state: object) -> None:
        raise KeyboardInterrupt

    ds.sweep(case, one, out=place, workers=0, batch=False, verify="same", progress=stop)
    found = resume_sweep(place, source=case, workers=0)
    assert found.done == 3
    assert not found.to_pandas()["difference_x"].isna().any()


@pytest.mark.slow
def test_a_difference_is_no_number_where_the_repetition_ended_otherwise(tmp_path: Path) -> None:
    # From -0.8 m the bob meets the first wall and turns before the second; a loose run, off by
    # more than they are from the turn, meets both or none.
    beside = [{"x": -0.8, "at": 0.8 - 1e-10}, {"x": -0.8, "at": 0.8 + 1e-10}]
    loose = ds.Dop853(rtol=1e-4, atol=1e-4)
    swept = ds.sweep(SWINGING.case(), beside, out=tmp_path / "s", workers=0, verify=loose)
    table = swept.to_pandas()
    assert list(table["outcome"]) == ["stopped_by_event", "completed"]
    (member,) = table.index[table["difference_x"].isna()]
    assert "ended" in table["verified_against"][member]
    largest = differences(swept.directory)["x"]
    assert largest.member == member
    assert math.isnan(largest.difference)


def test_a_sweep_without_verify_has_no_such_columns(tmp_path: Path) -> None:
    swept = ds.sweep(SWINGING.case(), MEMBERS[:1], out=tmp_path / "s", workers=0, until=1.0)
    assert not [name for name in swept.to_pandas() if name.startswith(("difference", "verified"))]
    assert differences(swept.directory) == {}


def test_what_cannot_repeat_a_run_is_refused_before_the_first_member(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="dop85"):
        ds.sweep(SWINGING.case(), MEMBERS, out=tmp_path / "s", workers=0, verify="dop85")
    with pytest.raises(OutOfRangeError, match="verify is 3"):
        ds.sweep(SWINGING.case(), MEMBERS, out=tmp_path / "s", workers=0, verify=3)  # pyright: ignore[reportArgumentType]
    assert not (tmp_path / "s").exists()
