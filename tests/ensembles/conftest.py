import pytest

import daesolve as ds
from tests.ensembles.problem_file import PLUGIN


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("problem") / "mine.py"
    path.write_text(PLUGIN, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def case(file):
    return ds.problem(str(file)).case()
