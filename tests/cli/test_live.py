"""The command that writes live pages, and the option of others that do."""

from __future__ import annotations

import json

import pytest

from daesolve.reporting.live import compiling

from .calling import call

CASE = ("chaplygin-sleigh", "--until", "2")


def test_wrong_requests_are_answered_before_anything_runs(tmp_path, monkeypatch):
    told = call("run", *CASE, "--live", code=2)
    assert "--live writes a page beside the report: give a directory, --out DIR" in told.stderr
    monkeypatch.setattr(compiling, "find_spec", lambda name: None)
    told = call("live", *CASE, "--out", tmp_path / "page.html", code=2)
    assert "pip install 'daesolve[live]'" in told.stderr
    monkeypatch.setattr(compiling, "find_spec", lambda name: True)
    told = call("live", *CASE, "--out", tmp_path / "page.pdf", code=2)
    assert "--out needs a file name that ends with .html" in told.stderr


@pytest.mark.slow
def test_pages_are_written_for_a_case_and_beside_reports(tmp_path):
    pytest.importorskip("ziglang", reason="the compiler of live pages is not installed")
    pytest.importorskip("wasmtime", reason="the engine that checks live pages is not installed")
    page = tmp_path / "page.html"
    told = json.loads(call("live", *CASE, "--out", page, "--json").stdout)
    assert told["difference"] < 1e-11
    assert told["until"] == 2.0
    assert "WebAssembly" in page.read_text("utf-8")
    directory = tmp_path / "run"
    assert "live.html" in call("run", *CASE, "--out", directory, "--live").stdout
    first = (directory / "live.html").read_text("utf-8")
    (directory / "live.html").unlink()
    call("report", directory, "--live")
    assert (directory / "live.html").read_text("utf-8") == first
