"""Pictures of the files that commands write: `python docs/screenshots.py [drift-report] ...`.

They need Chromium and Playwright (`tests/browser.py`); the document of equations also needs
pdflatex and pdftoppm.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from PIL import Image, ImageChops, ImageOps

DOCS = Path(__file__).parent
WANTED = DOCS / "_static"
COMMAND = [sys.executable, "-m", "daesolve"]
WIDE = 500
"""Width of a page in pixels, little more than a telephone has; pictures have twice as many."""
NARROW = r"\geometry{paperwidth=105mm, paperheight=270mm, margin=4mm}\pagestyle{empty}"


def page_of(
    file: Path, name: str, height: int, top: str, width: int = WIDE, wait: str = "body"
) -> None:
    """Photograph a page in its light theme, from the first of some elements, down to a height."""
    sys.path.insert(0, str(DOCS.parent))
    from tests.browser import open_browser

    with open_browser() as browser:
        page = browser.new_page(
            viewport={"width": width, "height": height}, device_scale_factor=2, color_scheme="light"
        )
        page.goto(file.resolve().as_uri())
        page.wait_for_selector(wait)
        page.wait_for_timeout(1500)
        above = page.locator(top).first.bounding_box()
        start = max(above["y"] - 10.0, 0.0) if above else 0.0
        clip = {"x": 0.0, "y": start, "width": float(width), "height": float(height)}
        shot = page.screenshot(full_page=True, clip=clip)
    saved(Image.open(io.BytesIO(shot)), name)


def saved(picture: Image.Image, name: str) -> None:
    """Write a picture with few colours, as WebP."""
    picture.convert("RGB").save(WANTED / f"{name}.webp", quality=60, method=6)


def run(*command: str, inside: Path, fails: bool = False) -> None:
    """Run a command in a directory."""
    done = subprocess.run(command, cwd=inside, capture_output=True, text=True)
    if bool(done.returncode) is not fails:
        raise RuntimeError(f"{' '.join(command)}: {done.stdout}{done.stderr}")


def drift_report(directory: Path) -> None:
    """Run the tests of the page on drift tests; one of them exceeds its limit."""
    page = (DOCS / "how-to/drift-tests.md").read_text(encoding="utf-8")
    (code,) = [found for found in blocks(page) if "def bead()" in found]
    (directory / "test_bead.py").write_text(code)
    pytest = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--drift-report=drift",
    ]
    run(*pytest, inside=directory, fails=True)
    page_of(directory / "drift" / "drift.html", "drift-report", 560, "h2")


def equations(directory: Path) -> None:
    """Typeset the reduced equations of the sleigh from the page on equations."""
    page = (DOCS / "how-to/equations.md").read_text(encoding="utf-8")
    (code,) = [found for found in blocks(page) if "sleigh.to_latex(" in found]
    (directory / "sleigh.py").write_text(code)
    run(sys.executable, "sleigh.py", inside=directory)
    text = (directory / "sleigh.tex").read_text(encoding="utf-8")
    document = r"\begin{document}"
    text = text.replace(document, NARROW + document)
    (directory / "sleigh.tex").write_text(text, encoding="utf-8")
    run("pdflatex", "-interaction=nonstopmode", "sleigh.tex", inside=directory)
    run(
        "pdftoppm",
        "-r",
        "170",
        "-png",
        "-f",
        "1",
        "-l",
        "1",
        "sleigh.pdf",
        "page",
        inside=directory,
    )
    (file,) = directory.glob("page*.png")
    picture = Image.open(file).convert("RGB")
    box = ImageChops.invert(picture).getbbox()
    saved(ImageOps.expand(picture.crop(box), 16, "white"), "equations")


def plugin_report(directory: Path) -> None:
    """Create the template's project and report a run of its problem."""
    run(*COMMAND, "new", "my-problem", inside=directory)
    file = str(directory / "my-problem/src/my_problem/__init__.py")
    run(*COMMAND, "run", file, "--out", "made", inside=directory)
    page_of(directory / "made" / "report.html", "plugin-report", 588, "figure", 620)


def paper_again(directory: Path) -> None:
    """Reproduce a paper in quick mode."""
    run(*COMMAND, "paper", "nikolskii-smirnov", "--quick", "--out", "made", inside=directory)
    page_of(directory / "made" / "paper.html", "paper-again", 595, "h2:has-text('Figure 1')")


def first_report(directory: Path) -> None:
    """Run the hoop of the first page and report it."""
    run(*COMMAND, "run", "rolling-wheel", "--case", "hoop", "--out", "made", inside=directory)
    page_of(directory / "made" / "report.html", "first-report", 800, "h1", 1160)
    page_of(directory / "made" / "report.html", "report", 760, "#drift", 1040)


def live(directory: Path) -> None:
    """Make the live page of the hoop."""
    hoop = ("live", "rolling-wheel", "--case", "hoop", "--out", "hoop.html")
    run(*COMMAND, *hoop, inside=directory)
    page_of(directory / "hoop.html", "live", 760, "body", 900)


def player(directory: Path) -> None:
    """Animate the vehicle on omni-wheels."""
    twist = ("run", "omni-rolling", "--case", "twist", "--until", "100", "--out", "made")
    run(*COMMAND, *twist, inside=directory)
    run(*COMMAND, "animate", "made", inside=directory)
    page_of(directory / "made" / "animation.html", "player", 620, "body", 800)


def blocks(page: str) -> list[str]:
    """Return the Python blocks of a page."""
    return re.findall(r"```python\n(.*?)```", page, re.DOTALL)


SHOTS: dict[str, Callable[[Path], None]] = {
    "drift-report": drift_report,
    "equations": equations,
    "plugin-report": plugin_report,
    "paper-again": paper_again,
    "first-report": first_report,
    "live": live,
    "player": player,
}

if __name__ == "__main__":
    for asked in sys.argv[1:] or SHOTS:
        with tempfile.TemporaryDirectory() as place:
            SHOTS[asked](Path(place))
