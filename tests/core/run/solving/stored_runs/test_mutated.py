"""Whatever happens to a file of a run: the same numbers as before, or a sentence of its own."""

import random
import shutil
from pathlib import Path

import pytest

import daesolve as ds
from daesolve.errors import ArchiveError, DaesolveError, NotResumableError
from daesolve.reporting import load
from tests.core.run.solving.stored_runs.conftest import many_parts
from tests.core.run.solving.stored_runs.mutations import damage
from tests.core.run.solving.stored_runs.runs import interrupting, swing, tables

SEED = 20_261_123
CHANGED = 300


def bouncing():
    """A ball that bounces: a run with samples, events, impacts and resets."""
    q, p = ds.coordinates(x="m", y="m"), ds.parameters(gravity=9.81)
    floor = ds.Contact("floor", q.y, restitution=0.9, closed=False)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=p.gravity * q.y,
        goals=[floor, ds.Invariant("push", q.dot.x)],
    )


START = {"initial": {"x": 0.0, "y": 1.0, "x_dot": 1.0}, "solver": ds.Dop853(), "until": 4.0}


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """A finished run, and one that was interrupted."""
    place = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patched:
        many_parts(patched)
        swing(place / "done", system=bouncing(), **START)
        swing(place / "part", interrupting(2.5), system=bouncing(), **START)
    return {"done": place / "done", "part": place / "part"}


def everything(directory):
    """All that a run on disk says, by name, as values that can be compared."""
    run = ds.Trajectory.from_run(directory)
    document = load(directory)
    for name in ("directory", "versions", "machine", "path", "under_way", "source"):
        document.pop(name)
    series = {name: run[name] for name in ("t", *run.states, *run.outputs)}
    series |= {f"reaction {name}": values for name, values in run.reactions.items()}
    words = {"document": repr(document), "events": repr(run.events), "words": str(run)}
    words = {name: text.replace(str(directory), "DIR") for name, text in words.items()}
    return {**{name: values.tobytes() for name, values in series.items()}, **words}


def files_of(directory):
    """The files of a run, those of each kind about as often as the others."""
    found = [file for file in sorted(directory.rglob("*")) if file.is_file()]
    kinds = {}
    for file in found:
        name = file.name if file.parent == directory else file.parent.name + file.suffix
        kinds.setdefault(name, []).append(file)
    return kinds


def mutated(original, place, number):
    """A copy of a run, one of its files damaged; in words which, and how."""
    chance = random.Random(SEED + number)
    shutil.copytree(original, place)
    kinds = files_of(place)
    file = chance.choice(kinds[chance.choice(sorted(kinds))])
    return f"{number}: {file.relative_to(place)}, {damage(chance, file)}"


def as_if_killed(found, whole):
    """Whether a run says no more than that it was killed: the same numbers, or fewer at the end."""
    series = [name for name in whole if name not in ("document", "events", "words")]
    return "interrupted" in found["words"] and all(
        whole[name].startswith(found[name]) for name in series
    )


@pytest.mark.long
@pytest.mark.parametrize("kind", ["done", "part"])
def test_a_file_that_was_changed_gives_a_sentence_or_the_same_numbers(originals, tmp_path, kind):
    whole, refused = everything(originals[kind]), 0
    for number in range(CHANGED // 2):
        how = mutated(originals[kind], tmp_path / str(number), number)
        try:
            found = everything(tmp_path / str(number))
        except ArchiveError as error:
            refused += 1
            words = str(error)
            assert "\n" not in words, how
            assert str(tmp_path / str(number)) in words, how
        else:
            lost = ".partial" in how or how.endswith("gone")
            assert found == whole or (lost and as_if_killed(found, whole)), how
        shutil.rmtree(tmp_path / str(number))
    assert refused > CHANGED // 6  # most of the damage was seen


def resumed(original, whole, place, number):
    """Damage a file of an interrupted run and go on with it; whether it was refused."""
    how, said = mutated(original, place, number), []
    try:
        run = ds.resume(place, source=bouncing(), tell=said.append)
    except (ArchiveError, NotResumableError) as error:
        words = str(error)
        assert "\n" not in words, how
        return True
    if run.outcome is ds.Outcome.INTERRUPTED:
        # A directory stands where a file is to be written.
        assert "could not be written" in run.message, how
        for path in filter(Path.is_dir, place.rglob("*.partial")):
            shutil.rmtree(path)
        run = ds.resume(place, source=bouncing(), tell=said.append)
    assert tables(place) == whole[0], how
    assert [repr(run.events), run.drift] == whole[1], how
    assert all("damaged" in sentence or "closing" in sentence for sentence in said), how
    return False


def what_comes_of(original, place):
    shutil.copytree(original, place)
    run = ds.resume(place, source=bouncing())
    return tables(place), [repr(run.events), run.drift]


@pytest.mark.long
@pytest.mark.parametrize("count", [12, pytest.param(CHANGED, marks=pytest.mark.slow)])
def test_a_run_of_which_a_file_was_changed_is_mended_or_refused(originals, tmp_path, count):
    whole = what_comes_of(originals["part"], tmp_path / "whole")
    refused = [
        resumed(originals["part"], whole, tmp_path / str(number), CHANGED + number)
        for number in range(count)
    ]
    assert not all(refused)


@pytest.mark.slow
@pytest.mark.parametrize("flipped", range(0, 1600, 400))
def test_a_checkpoint_with_a_flipped_bit_is_mended_by_the_one_before_it(
    originals, tmp_path, flipped
):
    whole = what_comes_of(originals["part"], tmp_path / "whole")
    shutil.copytree(originals["part"], tmp_path / "run")
    last = max((tmp_path / "run/checkpoints").glob("*.json"))
    content = bytearray(last.read_bytes())
    content[600 + flipped] ^= 1
    last.write_bytes(content)
    with pytest.raises(DaesolveError, match=r"part 2 .*daesolve resume"):
        ds.Trajectory.from_run(tmp_path / "run")
    said = []
    run = ds.resume(tmp_path / "run", source=bouncing(), tell=said.append)
    assert "part 2 is damaged (its checkpoint" in said[0]
    assert tables(tmp_path / "run") == whole[0]
    assert [repr(run.events), run.drift] == whole[1]
