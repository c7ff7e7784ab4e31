"""The pages on exports print what they say; their blocks go on from each other."""

import contextlib
import io
import re
import sys
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[2] / "docs" / "how-to"


@pytest.mark.long_rows("fmu-five-bar.fmu")
@pytest.mark.slow
@pytest.mark.parametrize(("page", "file"), [("export", "hoop/hoop.c"), ("fmu", "five-bar.fmu")])
def test_a_page_prints_what_it_says(page, file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    text = (PAGES / f"{page}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(python|py|text)\n(.*?)```", text, re.DOTALL)
    scope: dict[str, object] = {}
    printed = ""
    for kind, block in blocks:
        if kind == "text":
            assert printed == block
            continue
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(block, scope)
        printed = out.getvalue()
    assert (tmp_path / file).exists()
    sys.modules.pop("swing", None)
