"""The page on exports prints what it says."""

import contextlib
import io
import re
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "export.md"


def test_the_page_prints_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"```(python|text)\n(.*?)```", text, re.DOTALL)
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
    assert (tmp_path / "hoop" / "hoop.c").exists()
    sys.modules.pop("swing", None)
