"""The page of what drift tests measured."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import daesolve as ds
from daesolve.reporting.drift_testing.drift_report import failure, page, summary_lines
from tests.browser import open_browser
from tests.reporting.drift_testing.swings import FailedError, drift_test, let_swing


@pytest.fixture(scope="module")
def whole() -> dict[str, Any]:
    drift = drift_test()
    let_swing(drift, limits={"energy": 1e-9}, accuracy=1e-7)
    with pytest.raises(FailedError):
        let_swing(drift, limits={"energy": 1e-20}, accuracy=1e-20)
    return {
        "format": 1,
        "created": "2001-01-01T00:00:00+00:00",
        "versions": {"daesolve": ds.__version__},
        "runs": drift.entries,
    }


@pytest.mark.slow
def test_the_page_stands_alone_and_tells_each_run(whole: Mapping[str, Any]) -> None:
    text = page(whole)
    assert not re.search(r"<script|<link|https?://|src=|@import|url\((?!#)", text)
    identifiers = re.findall(r'\bid="([^"]+)"', text)
    assert len(set(identifiers)) == len(identifiers)
    assert set(re.findall(r'<a href="#([^"]+)"', text)) == {"run-1", "run-2"} <= set(identifiers)
    assert text.count("<svg") == 2
    assert "2 runs in 1 test, 1 beyond what is allowed" in text


def test_what_has_no_number_is_reported_in_the_page_and_the_message(
    whole: Mapping[str, Any],
) -> None:
    entry = json.loads(json.dumps(whole["runs"][1]))
    entry["drift"]["energy"]["max_relative"] = None
    entry["verification"]["relative"]["x"] = None
    entry["verification"]["difference"]["x"] = None
    assert re.search(r"x +1e-20 +not finite +not finite", failure(entry))
    assert "not finite" in summary_lines([entry], verbose=True)[0]
    assert "not finite" in page({**whole, "runs": [entry]})


@pytest.mark.long
def test_the_page_fits_a_phone(whole: Mapping[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "drift.html"
    file.write_text(page(whole), encoding="utf-8")
    with open_browser() as browser:
        shown = browser.new_page(viewport={"width": 390, "height": 800})
        shown.goto(file.as_uri())
        assert shown.evaluate("document.documentElement.scrollWidth") == 390
