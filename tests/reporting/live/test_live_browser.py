"""Live pages in a real browser: sliders give new motions, and what goes wrong gives a sentence."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

import daesolve as ds
from daesolve.reporting.live.checking import TOLERANCE
from daesolve.reporting.live.page import live
from daesolve.reporting.live.running import Machine
from tests.browser import open_browser
from tests.reporting.test_report_browser import CONTRAST, TEXTS

from .pendulum import END, run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytest.importorskip("ziglang", reason="the compiler of live pages is not installed")
pytest.importorskip("wasmtime", reason="the engine that checks live pages is not installed")

pytestmark = pytest.mark.slow
SAME = 1e-10
"""Ten times what a page promises: a motion with impacts amplifies what rounding leaves."""
PATIENCE = 20_000
"""ms until a motion must be there on a busy machine."""
NARROW = 390


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> str:
    return live(run()).save(tmp_path_factory.mktemp("live") / "page.html").as_uri()


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    yield from opened(browser, address)


def opened(browser: Browser, address: str, **options) -> Iterator[Page]:
    context = browser.new_context(offline=True, reduced_motion="reduce", **options)
    shown, wrong = context.new_page(), []
    shown.on("pageerror", lambda error: wrong.append(str(error)))
    shown.on("request", lambda asked: asked.url.startswith("http") and wrong.append(asked.url))
    shown.goto(address)
    settled(shown)
    yield shown
    context.close()
    assert wrong == []


def settled(page: Page) -> None:
    """Wait until the page has computed what was asked for."""
    page.wait_for_function("ready && !waiting", timeout=PATIENCE)


def end_of(page: Page) -> dict[str, float]:
    row = page.evaluate("Array.from(motion.rows.slice((motion.done - 1) * WIDTH))")
    names = page.evaluate("live.states.map(({ name }) => name)")
    return dict(zip(names, row[1:], strict=False)) | {"t": row[0]}


def enter(page: Page, name: str, text: str) -> None:
    number = page.locator(f"#set-{page.evaluate('(name) => controls.get(name).reference', name)}")
    number.evaluate("(one) => { one.closest('details').open = true; }")
    number.fill(text)
    number.press("Enter")


def put(page: Page, name: str, text: str) -> None:
    enter(page, name, text)
    settled(page)


def test_the_page_opens_with_the_stored_motion(page):
    known = run()
    for name, value in known.end_state.items():
        assert end_of(page)[name] == pytest.approx(value, abs=SAME)
    assert "ends here where it did" in page.inner_text("#agreement")
    assert "No goal is ever off by more than" in page.inner_text("#drifting")
    assert page.is_hidden("#trouble")
    count = page.evaluate("motion.events.length")
    assert count == known.event_count
    times = page.evaluate("motion.events.map(({ time }) => time)")
    assert times == pytest.approx([event.time for event in known.events], abs=1e-9)


def test_the_rows_are_those_of_the_same_module_elsewhere_bit_for_bit(page):
    module = gzip.decompress(base64.b64decode(page.evaluate("live.module")))
    with Machine(module) as machine:
        rows = machine.rows((0.0, END), page.evaluate("live.count"), TOLERANCE)
    assert page.evaluate("Array.from(motion.rows)") == rows.ravel().tolist()


def test_what_jumps_at_an_event_is_not_joined(page):
    """Just before and just after an impact the speed is that of the run, not a mean of both."""
    event = run().events[1]
    speed = """(off) => rowAt(motion.events[1].place + off)[places.get("x_dot")]"""
    # Rows are 5 s / 400 apart; the second derivative of the speed is some 60 m/s^3.
    near = 60.0 * (5.0 / 400) ** 2
    assert page.evaluate(speed, -1e-6) == pytest.approx(event.detail["x_dot"], abs=near)
    assert page.evaluate(speed, 1e-6) == pytest.approx(event.after["x_dot"], abs=near)


def test_an_input_by_an_expression_is_shown_with_its_numbers(browser, tmp_path):
    made = live(run(inputs={"wind": "0.2*sin(3*t)"}))
    for page in opened(browser, made.save(tmp_path / "wind.html").as_uri() + "#wind_number_2=2"):
        assert "wind = 0.2*sin((3*t))" in page.inner_text("#sliders")
        page.get_by_role("slider", name="0.2 in wind").wait_for()
        known = run(inputs={"wind": "0.2*sin(2*t)"})
        assert end_of(page)["x"] == pytest.approx(known.end_state["x"], abs=SAME)


def test_a_slider_gives_the_motion_that_solve_gives(page):
    slider = page.get_by_role("slider", name="gravity, m/s^2")
    slider.focus()
    for _ in range(12):
        slider.press("ArrowRight")
    settled(page)
    gravity = page.evaluate("controls.get('gravity').now")
    assert gravity > 9.81
    known = run(parameters={"gravity": gravity})
    for name, value in known.end_state.items():
        assert end_of(page)[name] == pytest.approx(value, abs=SAME)
    assert "no stored run to compare with" in page.inner_text("#agreement")


def test_a_link_carries_the_values_and_reset_takes_them_back(page, browser):
    put(page, "wind", "0.4")
    put(page, "start:x", "0.7")
    there = page.url
    assert there.endswith("#wind=0.4&start%3Ax=0.7")
    for other in opened(browser, there):
        assert end_of(other) == end_of(page)
    known = ds.solve(run().origin, END, {"x": 0.7}, guess={"y": -0.4}, inputs={"wind": 0.4})
    assert end_of(page)["y_dot"] == pytest.approx(known.end_state["y_dot"], abs=SAME)
    page.click("#reset")
    settled(page)
    assert "#" not in page.url
    assert "ends here where it did" in page.inner_text("#agreement")


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("mass", "-1", "parameter 'mass' is -1.0, but must be > 0"),
        ("mass", "nan", "parameter 'mass' is nan, but must be > 0"),
        ("mass", "", "parameter 'mass' is nan, but must be > 0"),
        ("gravity", "heavy", "parameter 'gravity' is nan, but must be any finite number"),
        ("start:x", "nan", "the start value of 'x' is nan, not a finite number"),
        ("until", "-3", "time 'until' is -3.0, but must be > 0"),
    ],
)
def test_wrong_values_are_refused_by_the_sentence_of_python(page, name, text, sentence):
    before = end_of(page)
    put(page, name, text)
    assert page.inner_text("#trouble") == sentence
    assert end_of(page) == before


@pytest.mark.parametrize("text", ["1e300", "-1e300", "1e-300", "0", "-0"])
def test_extreme_values_end_in_a_motion_or_a_sentence(page, text):
    for name in ("mass", "length", "gravity", "wind", "start:x", "until"):
        enter(page, name, text)
        page.wait_for_timeout(200)
        page.keyboard.press("Escape")  # stops what takes for ever
        settled(page)
        told = page.inner_text("#trouble")
        last = "Number.isFinite(motion.rows[motion.done * WIDTH - WIDTH + 1])"
        assert told or page.evaluate(last), name
        page.click("#reset")
        settled(page)
        assert "ends here where it did" in page.inner_text("#agreement"), name


@pytest.mark.parametrize(
    "start", [{"x": 2.0}, {"x": 0.5, "y": 0.5}, {"x": 0.9, "x_dot": 1.0, "y_dot": 1.0}]
)
def test_a_start_is_refused_by_the_sentence_of_python(page, start):
    with pytest.raises(ds.errors.InconsistentStateError) as refused:
        ds.solve(run().origin, END, start, guess={"y": -0.4})
    for name, value in start.items():
        put(page, f"start:{name}", str(value))
    assert page.inner_text("#trouble") == str(refused.value)


def test_a_link_with_nonsense_is_answered_by_a_sentence(browser, address):
    for page in opened(browser, address + "#nobody=3&mass=%E0%A4%A&gravity=9&%%%"):
        told = page.inner_text("#trouble")
        assert "this page cannot change nobody" in told
        assert "parameter 'mass' is nan, but must be > 0" in told


def test_a_long_motion_can_be_stopped_and_the_page_goes_on(page):
    put(page, "wall", "-5")  # which it never strikes, so that it swings for ever
    enter(page, "until", "1e7")
    page.wait_for_selector("#stop:not([hidden])", timeout=PATIENCE)
    page.click("#stop")
    settled(page)
    assert "stopped" in page.inner_text("#trouble")
    page.click("#reset")
    settled(page)
    assert "ends here where it did" in page.inner_text("#agreement")


def test_a_phone_shows_all_of_it_and_each_control_has_a_name(browser, address):
    for page in opened(browser, address, viewport={"width": NARROW, "height": 844}):
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW
        unnamed = page.evaluate("""[...document.querySelectorAll("input, select, button")]
            .filter((one) => !(one.ariaLabel || one.labels?.length || one.textContent.trim()
              || one.getAttribute("aria-labelledby"))).map((one) => one.outerHTML)""")
        assert unnamed == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_word_can_be_read_and_what_is_drawn_has_a_name(browser, address, scheme):
    for page in opened(browser, address, color_scheme=scheme):
        assert min(page.evaluate(TEXTS))[0] >= CONTRAST
        for drawn in page.locator("canvas:not([aria-hidden=true])").all():
            assert drawn.get_attribute("role") == "img"
            assert drawn.get_attribute("aria-label")


def test_a_hundred_sliders_can_be_searched(browser, tmp_path):
    x = ds.states(**dict.fromkeys(("x", "v"), "m"))
    p = ds.parameters(**{f"force_{k}": (0.01, "N") for k in range(100)})
    rates = {"x": x.v, "v": sum(p[f"force_{k}"] for k in range(100)) - x.x}
    many = live(ds.solve(ds.ControlSystem(x, rates, p), 1.0, {"x": 0.0, "v": 0.0}))
    for page in opened(browser, many.save(tmp_path / "many.html").as_uri()):
        page.fill("#filter", "force_77")
        assert page.locator(".slider:visible").count() == 1
        put(page, "force_77", "1.01")
        # x'' = 2 - x from rest
        assert end_of(page)["v"] == pytest.approx(2.0 * 0.8414709848078965, rel=1e-12)
