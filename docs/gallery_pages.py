"""Writes the pages of the gallery when the documentation is built: one for each problem.

Pages are written anew where the sources of the library or of a problem have changed since. A
problem whose page cannot be written fails the build.
"""

import hashlib
import multiprocessing
import os
import shutil
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from pathlib import Path

from sphinx.application import Sphinx

import daesolve as ds
from daesolve.gallery import write_page
from daesolve.registry import problems

GALLERY = Path(__file__).parent / "gallery"
LIST, STAMP = "problems.inc", ".sources"
WORKERS = 2
HORIZONS = {
    "omni-rolling": 60.0,  # 1618 events in 1000 s, of which no figure shows one
}
"""Ends of runs in place of the cases' own, s."""
GROUPS = {
    "Rolling and sliding": [
        "rolling-wheel",
        "rolling-ball",
        "rolling-disc",
        "rolling-coin",
        "rattleback",
        "chaplygin-sleigh",
        "knife-edge",
    ],
    "Vehicles": [
        "unicycle",
        "cart",
        "bogies",
        "bicycle",
        "omni-rolling",
        "omni-friction",
        "omni-inertialess",
        "wheelset",
        "wheelset-bogie",
    ],
    "Mechanisms": [
        "four-bar",
        "bricard",
        "andrews",
        "slider-crank",
        "slider-crank-flexible",
        "flyball-governor",
        "pendulum-chain",
    ],
    "Dry friction in guides": ["prism", "three-supports"],
    "Points, tops and axes": [
        "pendulum",
        "particle-on-circle",
        "spinning-top",
        "gyroscope",
        "car-axis",
    ],
}
IN_DEPTH = {
    "bogies": ["bogies"],
    "gyroscope": ["gyroscope"],
    "mechanism-problems": [
        "bricard",
        "flyball-governor",
        "rolling-coin",
        "spinning-top",
        "pendulum-chain",
    ],
    "omni-friction": ["omni-friction", "omni-inertialess"],
    "omni-rolling": ["omni-rolling"],
    "prism": ["prism"],
    "rolling-wheel": ["rolling-wheel", "rolling-ball"],
    "three-supports": ["three-supports"],
    "wheeled-vehicles": ["unicycle", "cart"],
    "wheelset": ["wheelset", "wheelset-bogie"],
    "classics": [
        "pendulum",
        "four-bar",
        "slider-crank",
        "slider-crank-flexible",
        "andrews",
        "car-axis",
        "particle-on-circle",
        "chaplygin-sleigh",
        "knife-edge",
        "rolling-disc",
        "bicycle",
        "rattleback",
    ],
}
"""The pages of `docs/problems`, and the problems that they treat."""


def write_pages(app: Sphinx) -> None:
    """Write the page of every installed problem, and the list of them."""
    app.connect("build-finished", copy_animations)
    found, broken = problems()
    if broken:
        raise RuntimeError("; ".join(plugin.reason for plugin in broken))
    titles = {problem.name: problem.title for problem in found}
    stamp = _stamp()
    stale = [name for name in titles if not _is_written(name, stamp)]
    if stale:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(min(WORKERS, os.cpu_count() or 1), context) as pool:
            for name, _ in zip(stale, pool.map(_write, stale), strict=True):
                (GALLERY / name / STAMP).write_text(stamp)
                print(f"gallery: {name}")
    (GALLERY / LIST).write_text(_list(titles), encoding="utf-8")


def _is_written(name: str, stamp: str) -> bool:
    """Tell whether a page is there, made of these sources."""
    mark = GALLERY / name / STAMP
    return (GALLERY / f"{name}.md").is_file() and mark.is_file() and mark.read_text() == stamp


def copy_animations(app: Sphinx, error: Exception | None) -> None:
    """Put the animations beside the pages that show them."""
    if error is not None or app.builder.format != "html":
        return
    for file in GALLERY.glob("*/animation.html"):
        target = Path(app.outdir) / "gallery" / file.parent.name
        target.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target / file.name)


def _write(name: str) -> None:
    """Write one page, and where its problem is treated in depth."""
    problem = ds.problem(name)
    page = write_page(problem, GALLERY, until=HORIZONS.get(name))
    deep = [page for page, treated in IN_DEPTH.items() if name in treated]
    if deep:
        links = ", ".join(f"[{_title(other)}](../problems/{other}.md)" for other in deep)
        with page.open("a", encoding="utf-8") as stream:
            stream.write(f"\n## In depth\n\n{links}.\n")


def _title(page: str) -> str:
    text = (GALLERY.parent / "problems" / f"{page}.md").read_text(encoding="utf-8")
    return text.partition("\n")[0].removeprefix("# ")


def _list(titles: dict[str, str]) -> str:
    """Return the problems in groups, each with its scene or its first figure, and the toctree."""
    grouped = {name for names in GROUPS.values() for name in names}
    groups = {**GROUPS, "Others": [name for name in titles if name not in grouped]}
    parts: list[str] = []
    for title, names in groups.items():
        here = [name for name in names if name in titles]
        if here:
            rows = [
                f"| {_picture(name)} | [{titles[name]}]({name}.md)<br>`{name}` |" for name in here
            ]
            parts.append("\n".join([f"## {title}", "", "| | |", "|---|---|", *rows]))
    parts.append("\n".join(["```{toctree}", ":hidden:", "", *sorted(titles), "```"]))
    return "\n\n".join(parts) + "\n"


def _picture(name: str) -> str:
    """Return the picture of a problem: its scene, else one of its own figures, else its motion."""
    files = sorted(file.name for file in (GALLERY / name).glob("*.svg"))
    usual = ("residuals.svg", "energy.svg")
    own = [file for file in files if file not in usual and not file.startswith("positions")]
    motion = [file for file in files if file.startswith("positions")]
    chosen = "scene.svg" if "scene.svg" in files else [*own, *motion, *files][0]
    return f"![{name}]({name}/{chosen}){{width=280px}}"


def _stamp() -> str:
    """Return a digest of every source that a page depends on."""
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for package in ("daesolve", "daesolve_problems"):
        spec = find_spec(package)
        if spec is None or spec.origin is None:
            continue
        root = Path(spec.origin).parent
        for file in sorted([*root.rglob("*.py"), *root.rglob("*.jinja")]):
            digest.update(str(file.relative_to(root)).encode() + file.read_bytes())
    return digest.hexdigest()
