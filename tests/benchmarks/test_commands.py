"""Commands that are printed are commands that run, and every program tells what it compares."""

import argparse
import re

import pytest

from .programs import PROGRAMS, ROOT, program

PAGES = sorted(
    path
    for pattern in ("*.md", "docs/*.md", "docs/*/*.md", "benchmarks/*/*.md")
    for path in ROOT.glob(pattern)
)
COMMAND = re.compile(r"python -m (benchmarks[\w.]*)([^`#&|]*?)(?=[`#&|]|\npython|\n\n|\Z)")
COMMANDS = sorted(
    {
        (str(page.relative_to(ROOT)), name, tuple(options.split()))
        for page in PAGES
        for name, options in COMMAND.findall(page.read_text(encoding="utf-8").replace("\\\n", ""))
    }
)


def test_the_documentation_names_all_programs_and_no_others():
    assert {name for page, name, _ in COMMANDS if page.startswith("docs/")} == set(PROGRAMS)


@pytest.mark.parametrize(("page", "name", "options"), COMMANDS)
def test_a_printed_command_has_options_that_the_program_takes(page, name, options, monkeypatch):
    monkeypatch.chdir(ROOT)
    parser = program(name).parser()
    if "--help" in options:
        with pytest.raises(SystemExit) as ended:
            parser.parse_args(options)
        assert ended.value.code == 0
    else:
        parser.parse_args(options)


def commands_of(parser):
    """The parsers of a program's commands, if it has commands."""
    made = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
    return [one for action in made for one in action.choices.values()]


@pytest.mark.parametrize("name", PROGRAMS)
def test_help_tells_what_is_compared_and_every_option(name):
    module = program(name)
    parser = module.parser()
    assert parser.prog == f"python -m {name}"
    assert parser.description == module.__doc__
    assert len(module.__doc__.splitlines()) > 3
    told = {
        option: action.help
        for one in (parser, *commands_of(parser))
        for action in one._actions
        for option in action.option_strings
    }
    assert all(told.values()), told
    assert "--json" in told


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--update", "nowhere.md"], "there is no file 'nowhere.md'"),
        (["--update", "README.md"], "has no lines <!-- chain: begin -->"),
        (["--read", "nowhere.json"], "there is no file 'nowhere.json'"),
        (["--json", "nowhere/chain.json"], "no such directory"),
        (["--rods", "0"], "'0' is not a whole number of at least 1"),
        (["--until", "-1"], "'-1' is not a number above zero"),
        (["--patience", "long"], "'long' is not a number above zero"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is_measured(
    options, words, monkeypatch, capsys
):
    monkeypatch.chdir(ROOT)
    with pytest.raises(SystemExit) as ended:
        program("benchmarks.pendulum_chain").parser().parse_args(options)
    assert ended.value.code == 2
    assert words in capsys.readouterr().err
