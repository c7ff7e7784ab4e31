"""What is kept comes back whole or not at all, wherever that is, and takes no more than it may."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from daesolve.core.expressions import disk_cache


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv(disk_cache.VARIABLE, str(tmp_path / "kept"))
    return tmp_path / "kept"


def test_what_is_kept_comes_back(place):
    assert disk_cache.load("a") is None
    disk_cache.store("a", b"content")
    assert disk_cache.load("a") == b"content"
    assert disk_cache.load("b") is None
    disk_cache.forget()
    assert disk_cache.load("a") is None


@pytest.mark.parametrize("spoil", ["flipped", "cut", "empty", "other"])
def test_what_is_not_whole_is_not_there(place, spoil: str):
    disk_cache.store("a", b"content" * 100)
    (path,) = place.iterdir()
    found = path.read_bytes()
    path.write_bytes(
        {
            "flipped": found[:-1] + bytes([found[-1] ^ 1]),
            "cut": found[:-1],
            "empty": b"",
            "other": os.urandom(len(found)),
        }[spoil]
    )
    assert disk_cache.load("a") is None
    disk_cache.store("a", b"again")
    assert disk_cache.load("a") == b"again"


@pytest.mark.parametrize("value", ["off", "OFF", ""])
def test_it_is_turned_off(monkeypatch, value: str):
    monkeypatch.setenv(disk_cache.VARIABLE, value)
    disk_cache.store("a", b"content")
    assert disk_cache.directory() is None
    assert disk_cache.load("a") is None


def test_where_nothing_can_be_written_nothing_is_kept(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no directory")
    monkeypatch.setenv(disk_cache.VARIABLE, str(tmp_path / "file" / "kept"))
    disk_cache.store("a", b"content")
    assert disk_cache.load("a") is None


def test_those_used_longest_ago_go_first(place, monkeypatch):
    for age, name in enumerate("abc"):
        disk_cache.store(name, os.urandom(1000))
        os.utime(place / (name + disk_cache.SUFFIX), (1000.0 + age, 1000.0 + age))
    assert disk_cache.load("a") is not None  # which makes it the youngest
    monkeypatch.setattr(disk_cache, "MOST_BYTES", 3500)
    disk_cache.store("d", os.urandom(1000))
    assert [name for name in "abcd" if disk_cache.load(name) is not None] == ["a", "c", "d"]


def test_writers_at_once_leave_one_whole_content_and_no_rest(place):
    contents = [bytes([k]) * 100_000 for k in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda content: disk_cache.store("a", content), contents * 5))
    assert disk_cache.load("a") in contents
    assert [path.name for path in place.iterdir()] == ["a" + disk_cache.SUFFIX]
