"""The parts of the run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from tools.ci.schedule import Part

REQUIRED = {f"DAESOLVE_REQUIRE_{tool}": "1" for tool in ("ASSIMULO", "CHROMIUM", "LATEX")}
ONE_THREAD = {"OMP_NUM_THREADS": "1"}
"""Two workers share the machine, so neither may use both processors for small matrices."""


@dataclass(frozen=True)
class Selection:
    """The tests that run besides those of the default tier.

    Parameters
    ----------
    files
        The test files whose slow tests run; None for all.
    long_files
        The test files whose long tests run; None for all.
    """

    files: tuple[str, ...] | None = None
    long_files: tuple[str, ...] | None = ()


def printed(readme: str, mark: str) -> str:
    """Return the command of a README section exactly as it appears there.

    Raises
    ------
    ValueError
        The README has no such section.
    """
    found = re.search(rf"^<!-- {mark} -->\n```bash\n(.*?)\n```$", readme, re.MULTILINE | re.DOTALL)
    if found is None:
        raise ValueError(f"README.md has no command below <!-- {mark} -->")
    return found[1]


# Long: the list of all parts.
def parts_of(scratch: Path, readme: str, tests: Selection) -> list[Part]:
    """Return the parts in the order in which they are to begin.

    Parameters
    ----------
    scratch
        A folder with the clones `main` and `release`.
    readme
        The text of the README.
    tests
        Those that run besides those of the default tier.
    """
    main, release = scratch / "main", scratch / "release"
    dev = scratch / "dev"
    python = quote(f"{dev}/bin/python")
    use_dev = f"export PATH={quote(f'{dev}/bin')}:$PATH\n"
    site = scratch / "site"
    return [
        # The README's command installs from the other clone meanwhile; pip writes beside sources.
        Part(
            "environment",
            f"python3 -m venv {quote(str(dev))}\n"
            f"{python} -m pip install -q -e '.[dev]' -e ./problems",
            folder=release,
        ),
        Part(
            "README's first command",
            f"{printed(readme, 'run')}\ntest -s runs/hoop/report.html",
            folder=main,
        ),
        # It waits for the network most of the time.
        Part(
            "Debian's packages",
            "bash tools/chromium/install\nbash tools/latex/install",
            processors=0,
            folder=main,
        ),
        # Linters need a processor while Assimulo is built.
        Part(
            "linters",
            f"{use_dev}ruff format --check .\nruff check .\npyright\nlint-imports",
            needs=("environment",),
            decisive=True,
            folder=release,
        ),
        # Assimulo is built for the environment of the README, which nothing uses meanwhile; the
        # other one then gets the wheel.
        Part(
            "Assimulo",
            "bash tools/assimulo/install .venv/bin/python",
            needs=("README's first command", "Debian's packages"),
            folder=main,
        ),
        Part(
            "environment of the tests",
            f"{python} -m pip install -q --no-deps -e . -e ./problems\n"
            f"bash tools/assimulo/install {python}",
            needs=("environment", "Assimulo"),
            folder=main,
        ),
        # The longest of one processor begins first.
        Part(
            "site",
            f"{use_dev}sphinx-build -q -W --keep-going -b html docs {quote(str(site))}",
            needs=("environment of the tests",),
            folder=main,
            environment={} if tests == Selection(None, None) else {"DAESOLVE_GALLERY": "brief"},
        ),
        # Both runs of pytest are in one checkout, so that numba compiles each kernel once. The
        # first claims one processor only, for the site leaves much of the other one.
        Part(
            "README's second command",
            printed(readme, "test"),
            needs=("environment of the tests",),
            live=True,
            folder=main,
            environment=REQUIRED | ONE_THREAD,
        ),
        # A build rewrites the entry points beside the sources, by which tests find the problems.
        Part(
            "packages",
            f"{use_dev}bash tools/release/build\nbash tools/release/check",
            needs=("environment",),
            folder=release,
        ),
        Part(
            "slow tests",
            use_dev + "\n".join(_commands(tests)),
            needs=("environment of the tests", "site"),
            processors=2,
            live=True,
            folder=main,
            environment=REQUIRED | ONE_THREAD | {"DAESOLVE_SITE": str(site)},
        ),
    ]


def _commands(tests: Selection) -> list[str]:
    """Return what runs the slow and the long tests of a selection."""
    commands: list[str] = []
    for mark, files in (("slow", tests.files), ("long", tests.long_files)):
        command = f"pytest -q -m {mark} -n 2 --dist worksteal"
        if files is None:
            commands.append(command)
        elif files:
            # Files without such tests are no fault: 5 is pytest's status for nothing to run.
            named = " ".join(map(quote, sorted(files)))
            commands.append(f"{command} {named} || [ $? = 5 ]")
    return commands or ["echo 'the change reaches no tests'"]
