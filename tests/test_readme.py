import re
from pathlib import Path

import pytest

from daesolve.core import features

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs").glob("*/*.md")),
]
FIRST = [ROOT / "README.md", *(ROOT / "docs" / "start").glob("*.md")]
"""Pages that a newcomer reads first; the blocks of all others are slow."""
BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```)?", re.DOTALL)
"""A block, and what the page says that it prints."""
NUMBER = re.compile(r"[-−+]?\d+(?:\.\d*)?(?:e[-+]?\d+)?")
ROUNDING = 1e-8
"""Numbers below it are errors, of which only the size is told."""
BLOCKS = [
    pytest.param(
        *block,
        id=f"{page.relative_to(ROOT)}-{number}",
        marks=() if page in FIRST else pytest.mark.slow,
    )
    for page in PAGES
    for number, block in enumerate(BLOCK.findall(page.read_text(encoding="utf-8")))
]


def agree(said: str, printed: str) -> bool:
    """Return whether two texts have the same words, and numbers that differ by rounding at most.

    Counts, as those of steps, may differ by a fiftieth from one processor to another.
    """
    if NUMBER.sub("#", said).split() != NUMBER.sub("#", printed).split():
        return False
    return all(
        abs(one - other) <= max(ROUNDING, 1e-6 * abs(one))
        or (one.is_integer() and one > 50.0 and abs(one - other) < 0.02 * one)
        for one, other in zip(_numbers(said), _numbers(printed), strict=True)
    )


def _numbers(text: str) -> list[float]:
    return [float(found.replace("−", "-")) for found in NUMBER.findall(text)]


def test_stale_numbers_and_words_are_seen():
    assert agree("x = 1.234567 m, 2e-16, 677 steps", "x = 1.234567 m, 9e-17, 680 steps")
    assert not agree("0.446322377 m [5. 46.47047642]", "0.446322377 m [5. 46.57434236]")
    assert not agree("2 events", "3 events")
    assert not agree("held", "held, slides")


@pytest.mark.long_rows(
    "README.md-0",
    "docs/how-to/choose-rates.md-3",
    "docs/how-to/coming-to-rest.md-0",
    "docs/how-to/contact.md-4",
    "docs/how-to/contact.md-5",
    "docs/how-to/contact.md-8",
    "docs/how-to/ensembles.md-0",
    "docs/how-to/ensembles.md-1",
    "docs/how-to/inverse-dynamics.md-0",
    "docs/how-to/mechanisms.md-12",
    "docs/how-to/mechanisms.md-7",
    "docs/how-to/model-files.md-0",
    "docs/how-to/papers.md-0",
    "docs/how-to/periodic-motions.md-2",
    "docs/how-to/sensitivity.md-2",
    "docs/index.md-0",
    "docs/problems/omni-friction.md-0",
    "docs/problems/omni-laws.md-0",
    "docs/problems/omni-rolling.md-1",
    "docs/problems/omni-wheel.md-0",
    "docs/problems/periodic-problems.md-2",
    "docs/problems/rolling-wheel.md-1",
)
@pytest.mark.parametrize(("block", "said"), BLOCKS)
def test_every_python_block_of_the_documentation_runs_and_prints_what_the_page_says(
    block, said, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)  # where some keep their runs
    registered = {point: [*additions] for point, additions in features._registered.items()}
    monkeypatch.setattr(features, "_registered", registered)
    try:
        exec(compile(block, "documentation", "exec"), {})
    finally:
        features.references.cache_clear()
    printed = capsys.readouterr().out
    assert not said or agree(said, printed), printed


@pytest.mark.long
def test_the_bead_drives_jacobis_integral_and_says_so(capsys):
    block = next(block.values[0] for block in BLOCKS if "bead" in block.values[0])
    names = {}
    exec(compile(block, "README.md", "exec"), names)
    printed = capsys.readouterr().out
    assert "T + V is not conserved" in printed
    run = names["run"]
    assert "energy" not in run.drift
    assert run.drift["jacobi_integral"].driven
    energy = run["energy"]
    assert energy.max() - energy.min() > 1.0


def test_each_impact_leaves_the_pendulum_the_square_of_the_restitution_of_its_energy(capsys):
    block = next(block.values[0] for block in BLOCKS if "p.at - q.x" in block.values[0])
    names = {}
    exec(compile(block, "README.md", "exec"), names)
    run = names["run"]
    assert run.event_count == len(run.events) == 35
    first = 9.81 * (0.96**0.5 - 0.75**0.5)  # the height that it has fallen when it meets the wall
    for passed, event in enumerate(run.events):
        assert event.impact.kinetic_before == pytest.approx(first * 0.81**passed, rel=2e-12)
        assert event.impact.carnot < 3e-15
