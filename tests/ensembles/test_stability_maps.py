"""Stability maps by the workers of a cluster have the bits of those of one process."""

import numpy as np
import pytest

import daesolve as ds
from daesolve.ensembles import sweep_stability

OVER = {"slope": (0.07, 0.1), "gravity": (9.0, 10.0)}


def test_what_workers_cannot_be_sent_is_refused() -> None:
    case = ds.problem("rimless-wheel").case()
    with pytest.raises(ds.errors.OutOfRangeError, match="'perid' does not describe an orbit"):
        sweep_stability(case, OVER, scheduler="tcp://127.0.0.1:1", perid=1.0)
    section = case.system.dynamics.x[0]
    with pytest.raises(ds.errors.OutOfRangeError, match="cannot be sent to workers"):
        sweep_stability(case, OVER, scheduler="tcp://127.0.0.1:1", section=section)


@pytest.mark.long
def test_a_cluster_computes_the_bits_of_one_process() -> None:
    distributed = pytest.importorskip("distributed")
    case = ds.problem("rimless-wheel").case()
    cells = (4, 5)
    orbit = case.periodic_orbit(section="strike", verify=False)
    alone = ds.analysis.stability_map(orbit, OVER, cells=cells)
    assert set(alone.verdicts.ravel()) == {"stable"}
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        shared = sweep_stability(
            case, OVER, scheduler=cluster.scheduler_address, cells=cells, section="strike"
        )
    assert np.array_equal(shared.leading, alone.leading)
    assert np.array_equal(shared.verdicts, alone.verdicts)
    assert shared.borders == alone.borders
