"""How long live pages take in a browser: their motions, and from a slider to a new one.

Each page opens in headless Chromium from disk, without a network. *Motion* is the time of its
module from the start to the end in one piece; *with rows* as the page computes it, for its pictures
and curves; *from a slider* is the time from the event of a slider until the page has drawn the new
motion. Milliseconds are wall-clock, the shortest of the repeats. The error is that of the end
against the stored run, relative to the largest value of each state, at least 1.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import daesolve as ds
from daesolve.reporting.live.page import live

from .common.attempts import untyped
from .common.conditions import as_json, conditions
from .common.options import add_json, add_repeats, options
from .common.tables import aligned

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ("--no-sandbox", "--disable-gpu")
PATIENCE = 60_000
"""ms"""
MOTION = """(repeats) => {
  const made = new WebAssembly.Instance(module, {}).exports;
  made._initialize();
  const timed = (count) => {
    let least = Infinity;
    for (let k = 0; k < repeats; k += 1) {
      const began = performance.now();
      made.begin(live.tolerance, live.begin);
      made.start(live.begin);
      const step = (live.end - live.begin) / count;
      for (let done = 0; done <= count; done += 16) {
        made.go(live.begin, step, live.end, done, Math.min(done + 16, count + 1));
        made.forget();
      }
      least = Math.min(least, performance.now() - began);
    }
    return least;
  };
  return [timed(1), timed(live.count), live.count, motion.events.length];
}"""
SLIDER = """([name, repeats]) => new Promise((told) => {
  let least = Infinity, left = repeats;
  const again = () => {
    if (!left) { told(least); return; }
    left -= 1;
    const own = controls.get(name), began = performance.now();
    own.range.value = own.value * (1 + 0.01 * (1 + left));
    own.range.dispatchEvent(new Event("input"));
    const wanted = String(asked), look = () => {
      const shown = document.documentElement.dataset.asked === wanted;
      if (waiting || !shown) { setTimeout(look, 4); return; }
      least = Math.min(least, performance.now() - began);
      setTimeout(again, 50);
    };
    look();
  };
  again();
})"""


@dataclass(frozen=True)
class Measurement:
    """A page: its name, horizon in s, events, rows, ms, kB, and the error of its end."""

    name: str
    horizon: float
    events: int
    rows: int
    motion: float
    with_rows: float
    from_slider: float
    kilobytes: float
    error: float


TASKS = {
    "hoop": ("rolling-wheel", "hoop", 60.0, "gravity"),
    "twist": ("omni-rolling", "twist", 1000.0, "platform_mass"),
    "rattleback": ("rattleback", "reversal", 20.0, "gravity"),
}
"""Problem, case, horizon in s, and the slider that is moved."""


def measured(browser: Any, name: str, folder: Path, repeats: int, horizon: float) -> Measurement:
    """Return what a page takes."""
    problem, case, until, slider = TASKS[name]
    until = min(until, horizon)
    page = live(ds.problem(problem).case(case).solve(until), until=until)
    context = browser.new_context(offline=True, reduced_motion="reduce")
    shown = context.new_page()
    shown.goto(page.save(folder / f"{name}.html").as_uri())
    shown.wait_for_function("ready && !waiting", timeout=PATIENCE)
    motion, with_rows, rows, events = shown.evaluate(MOTION, repeats)
    from_slider = shown.evaluate(SLIDER, [slider, repeats])
    context.close()
    return Measurement(
        f"{problem} {case}",
        until,
        events,
        rows,
        motion,
        with_rows,
        from_slider,
        len(page.text.encode()) / 1e3,
        page.difference,
    )


def table(found: list[Measurement]) -> str:
    """Return all measurements."""
    heads = ["page", "s", "events", "rows", "motion, ms", "with rows, ms", "from a slider, ms"]
    rows = [
        [
            one.name,
            f"{one.horizon:g}",
            str(one.events),
            str(one.rows),
            f"{one.motion:.0f}",
            f"{one.with_rows:.0f}",
            f"{one.from_slider:.0f}",
            f"{one.kilobytes:.0f}",
            f"{one.error:.0e}",
        ]
        for one in found
    ]
    return aligned([*heads, "kB", "error"], rows)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = options("benchmarks.live", __doc__)
    parser.add_argument("--page", choices=TASKS, action="append", help="repeatable (all)")
    parser.add_argument(
        "--until",
        type=float,
        default=1000.0,
        metavar="S",
        help="no motion goes on longer, s (%(default)g)",
    )
    add_repeats(parser, 5, "runs of each")
    add_json(parser)
    return parser


def main() -> None:
    """Measure and print."""
    given = parser().parse_args()
    known = conditions("wasmtime")
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    if executable is None:
        raise SystemExit("no Chromium is installed here: bash tools/chromium/install adds it")
    with untyped("playwright.sync_api").sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=list(FLAGS))
        with tempfile.TemporaryDirectory() as folder:
            found = [
                measured(browser, name, Path(folder), given.repeats, given.until)
                for name in TASKS
                if not given.page or name in given.page
            ]
        browser.close()
    print(f"{known}\n\n{table(found)}")
    if given.json:
        given.json.write_text(as_json(known, found))


if __name__ == "__main__":
    main()
