"""Each run of a sweep is held against what was posed."""

import pytest

from daesolve.ensembles import Sweep, resume_sweep, sweep
from daesolve.errors import OutOfRangeError
from tests.verification.audit.test_glance import losing, oscillator


@pytest.mark.parametrize("batch", [True, False])
def test_the_members_of_a_sweep_are_audited_and_those_that_cannot_run_are_named(
    case, tmp_path, batch
):
    over = {"mass": [13.0, 1.0, 2.0]} if not batch else {"mass": [1.0, 2.0]}
    found = sweep(case, over, workers=0, out=tmp_path, batch=batch).audit()
    assert found.holds
    assert len(found.audits) == 2
    assert all(one.checked for one in found.audits.values())
    assert max(found.apart.values()) < 1e-12
    assert [*found.unaudited] == ([] if batch else [0])
    assert "2 of 2 members hold" in str(found)
    assert batch or "member 0: not audited:" in str(found)


def test_some_members_are_audited_and_a_resumed_sweep(case, tmp_path):
    over = {"mass": [1.0, 2.0, 3.0]}
    found = sweep(case, over, workers=0, out=tmp_path)
    assert [*found.audit([2]).audits] == [2]
    with pytest.raises(OutOfRangeError, match="no results for the member 7"):
        found.audit([7])
    assert len(resume_sweep(tmp_path, source=case, workers=0).audit().audits) == 3
    with pytest.raises(OutOfRangeError, match="read from its directory alone"):
        Sweep.from_directory(tmp_path).audit()


def test_a_member_that_contradicts_what_was_posed_is_named(tmp_path):
    import daesolve as ds

    cases = [ds.Case("one", start={"x": 1.0}, until=10.0)]
    problem = ds.Problem("o", title="", models={"one": oscillator}, cases=cases)
    with losing("up"):
        found = sweep(problem.case(), {"x": [1.0, 2.0]}, workers=0, out=tmp_path)
        audit = found.audit()
    assert found.failed == 2
    assert [*audit.objections] == [0, 1]
    assert "member 1: event, up:" in str(audit)
    assert not audit.together.holds
