"""The page that plays an animation, in a real browser: what each control does, and what is seen."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pytest

from daesolve.multibody.drawing import Camera, Circle, Dot, Drawing, Line, Trace
from daesolve.reporting import animate
from tests.browser import open_browser
from tests.reporting.test_report_browser import CONTRAST, TEXTS

from .test_film import RADIUS, moving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

END = 4.0
SECONDS, PICTURES = 2.0, 50
PACE = END / SECONDS
STEP = END / (PICTURES - 1)
FRAME = 0.016
"""Of the clock that the tests wind, s."""
BOUND = 3 * FRAME * PACE + 0.5e-1
"""The time of the run within which three frames and the digits shown may differ."""
KNOCK = 1.0
PATH, ACCENT = (27, 133, 115), (194, 90, 22)
NAMES = ("whole", "close", "few", "sparse", "space")
CORNER = np.array([0.6, 0.4, 0.8])
DOT = Dot(("x", "y"), role="accent", label="point")
PIXEL = 1.0
FINGER = 44
"""What a finger can hit, CSS pixels."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Pages of a point that goes round a circle, seen as a whole and close by."""
    directory = tmp_path_factory.mktemp("pages")
    around = Drawing([Trace(("x", "y"), label="path"), DOT])
    bare = Drawing([Trace(("x", "y")), Dot(("x", "y"))])
    wheel = Circle(("x", "y"), "radius", angle="t", spokes=3, label="wheel")
    close = Drawing(
        [Line([(-1, 0), (1, 0)], role="ground"), Trace(("x", "y"), label="path"), wheel, DOT],
        camera=Camera(("x", "y"), 4 * RADIUS),
    )
    box = [(-1.0, -1.0, -1.0), (1.0, 1.0, 1.0)]
    space = Drawing(
        [
            Line(box, role="ground"),
            Trace(("x", "y", 0.0), label="path"),
            Circle(("x", "y", 0.0), 0.3, label="ball"),
            Dot(CORNER.tolist(), role="accent", label="point"),
        ],
        eye=(0.3, -1.0, 0.25),
    )
    events = [{"time": time, "name": "knock", "detail": {}} for time in (KNOCK, 2.5 * KNOCK)]
    for name, drawing, count, options in (
        ("whole", around, 393, {"seconds": SECONDS, "rate": PICTURES / SECONDS}),
        ("close", close, 393, {"seconds": SECONDS, "rate": PICTURES / SECONDS}),
        ("few", around, 101, {"seconds": 0.6, "rate": 10.0}),
        ("sparse", bare, 12, {"seconds": 1.0, "rate": 10.0}),
        ("space", space, 101, {"seconds": 0.6, "rate": 10.0}),
    ):
        run = moving(drawing, count=count, end=END) | {"events": events}
        animate(run, directory / f"{name}.html", **options)
    return directory


@pytest.fixture
def show(browser, pages):
    """Opens a page whose clock stands still until it is wound.

    Whatever a test does there, nothing is asked for elsewhere and nothing goes wrong.
    """
    contexts, asked, wrong = [], [], []

    def opened(name: str = "whole", *, wide: int = 1000, high: int = 800, **options) -> Page:
        context = browser.new_context(viewport={"width": wide, "height": high}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda told: told.type == "error" and wrong.append(told.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.clock.install(time=0)
        page.clock.pause_at(1000)
        page.goto((pages / f"{name}.html").as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    assert wrong == []
    known = [(pages / f"{name}.html").as_uri() for name in NAMES]
    assert [url for url in asked if url not in known and not url.startswith("data:")] == []


def time(page: Page) -> float:
    text = page.inner_text("#time")
    assert text.startswith("t = ")
    assert text.endswith(" s")
    return float(text[4:-2].replace("−", "-"))


def wind(page: Page, seconds: float) -> float:
    """Let the clock of a page go on, and return by how much the time of the run does."""
    before = time(page)
    page.clock.run_for(round(1000 * seconds))
    return time(page) - before


def spot(page: Page, colour: tuple[int, int, int]) -> tuple[int, float, float]:
    """Return how many pixels have a colour, and their middle from that of the plot, CSS pixels."""
    return page.evaluate(
        """([red, green, blue]) => {
            const dots = devicePixelRatio;
            const { width, height } = view, pen = view.getContext("2d");
            const pixels = new Uint32Array(pen.getImageData(0, 0, width, height).data.buffer);
            const wanted = ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
            let count = 0, x = 0, y = 0;
            for (let k = 0; k < pixels.length; k += 1) {
                if (pixels[k] !== wanted) continue;
                count += 1;
                x += k % width + 0.5;
                y += Math.floor(k / width) + 0.5;
            }
            const middle = [ROOM.left + (view.clientWidth - ROOM.left - ROOM.right) / 2,
                            ROOM.top + (view.clientHeight - ROOM.top - ROOM.bottom) / 2];
            return [count, x / count / dots - middle[0], y / count / dots - middle[1]];
        }""",
        list(colour),
    )


def picture(page: Page) -> str:
    return page.evaluate("document.getElementById('view').toDataURL()")


@pytest.mark.parametrize("name", ["whole", pytest.param("sparse", marks=pytest.mark.slow)])
def test_every_control_can_be_used(show, name):
    page = show(name)
    for button in page.locator("button:visible").all():
        button.click()
    for choice in page.locator("select:visible").all():
        for entry in range(choice.locator("option").count()):
            choice.select_option(index=entry)
    page.click("summary")
    assert page.is_visible("kbd")


def test_it_plays_at_the_given_speed_and_pauses(show):
    page = show()
    assert page.inner_text("#speed") == "2 × real time"
    wind(page, 0.1)
    assert wind(page, 1.0) == pytest.approx(PACE, abs=BOUND)
    page.click("#play")
    assert page.inner_text("#play") == "Play"
    assert wind(page, 1.0) == 0.0
    page.click("#play")
    assert page.inner_text("#play") == "Pause"
    assert wind(page, 0.5) == pytest.approx(0.5 * PACE, abs=BOUND)


def test_the_speed_changes_how_fast_the_time_goes_on(show):
    page = show()
    for choice, told in (("0.1", "0.2 × real time"), ("0.5", "real time"), ("2", "4 × real time")):
        page.select_option("#pace", choice)
        page.keyboard.press("Home")
        page.click("#play")
        wind(page, 0.1)
        expected = 0.5 * PACE * float(choice)
        assert wind(page, 0.5) == pytest.approx(expected, abs=max(1.0, float(choice)) * BOUND)
        assert page.inner_text("#speed") == told


@pytest.mark.slow
def test_it_stops_at_the_end_and_begins_again_if_told(show):
    page = show()
    wind(page, SECONDS + 0.2)
    assert time(page) == END
    assert page.inner_text("#play") == "Again"
    page.click("#play")
    page.click("#repeat")
    assert page.get_attribute("#repeat", "aria-pressed") == "true"
    wind(page, SECONDS + 0.5)
    assert time(page) == pytest.approx(0.5 * PACE, abs=BOUND)


def test_the_slider_moves_to_a_picture(show):
    page = show()
    for place in (0, 10, 25.4, PICTURES - 1):
        page.locator("#place").fill(str(place))
        assert time(page) == pytest.approx(round(place) * STEP, abs=0.5e-2)
        assert page.get_attribute("#place", "aria-valuetext") == page.inner_text("#time")
    assert page.inner_text("#play") == "Again"
    box = page.locator("#place").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"])
    assert time(page) == pytest.approx(0.5 * END, abs=STEP)


def test_keys_steer_it(show):
    page = show()
    page.keyboard.press("Space")
    page.keyboard.press("Home")
    assert time(page) == 0.0
    for key, pictures in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", 49)):
        page.keyboard.press(key)
        assert time(page) == pytest.approx(pictures * STEP, abs=0.5e-2)
    page.keyboard.press("Home")
    page.focus("#place")
    page.keyboard.press("ArrowRight")
    assert time(page) == pytest.approx(STEP, abs=0.5e-2)
    page.keyboard.press("Space")
    assert page.inner_text("#play") == "Pause"
    page.keyboard.press(">")
    assert page.input_value("#pace") == "2"
    page.focus("#play")
    page.keyboard.press("Space")
    assert page.inner_text("#play") == "Play"
    page.keyboard.press("t")
    assert page.input_value("#trace") == "off"


@pytest.mark.slow
def test_every_control_shows_that_it_has_the_focus(show):
    page = show("close")
    reached = set()
    for _ in range(30):
        page.keyboard.press("Tab")
        name, outline = page.evaluate(
            "[document.activeElement.id, getComputedStyle(document.activeElement).outlineStyle]"
        )
        reached.add(name)
        assert name in ("", "place") or outline == "solid"
    controls = page.locator("button:visible, select:visible, input:visible").all()
    assert {control.get_attribute("id") for control in controls} <= reached
    for control in controls:
        assert control.get_attribute("aria-label") or control.inner_text()


def test_what_is_followed_stays_in_the_middle(show):
    page = show()
    page.select_option("#follow", label="point")
    for place in (0, 17, 42):
        page.locator("#place").fill(str(place))
        count, x, y = spot(page, ACCENT)
        assert count > 20
        assert math.hypot(x, y) < 1.5
    page.select_option("#follow", label="nothing")
    _, x, y = spot(page, ACCENT)
    assert math.hypot(x, y) > 50


@pytest.mark.slow
def test_bodies_small_on_their_way_are_followed_with_a_map(show):
    page = show("close")
    assert page.input_value("#follow") == "bodies"
    assert page.is_visible("#map")
    page.locator("#place").fill("30")
    assert math.hypot(*spot(page, ACCENT)[1:]) < 1.5
    page.select_option("#follow", "whole")
    assert math.hypot(*spot(page, ACCENT)[1:]) > 50


def test_traces_are_drawn_as_long_as_asked(show):
    page = show()
    page.keyboard.press("End")
    lengths = {}
    for choice in ("whole", "2", "1", "off"):
        page.select_option("#trace", choice)
        lengths[choice] = spot(page, PATH)[0]
    assert lengths["off"] == 0
    assert lengths["1"] > 50
    # The same speed everywhere, so that a part of the time is that part of the way; a stroke's
    # edges are blended more or less by its direction.
    assert lengths["2"] / lengths["whole"] == pytest.approx(0.5, rel=0.2)
    assert lengths["1"] / lengths["2"] == pytest.approx(0.5, rel=0.2)
    page.select_option("#trace", "whole")
    page.keyboard.press("Home")
    assert spot(page, PATH)[0] == 0


def test_samples_too_far_apart_are_not_joined(show):
    page = show("sparse", reduced_motion="reduce")
    assert page.locator("#follow option").all_inner_texts() == ["nothing", "the dot"]
    assert "too far apart" in page.inner_text("main")
    page.keyboard.press("End")
    assert 0 < spot(page, PATH)[0] <= 4 * 12


@pytest.mark.slow
def test_between_pictures_the_motion_is_drawn_smoothly(show):
    """Six pictures, 0.4 rad apart, whose chords would miss the circle by 1 - cos(0.2) of it.

    In the first and the last step the page has a parabola through three pictures, whose error is
    at most 1/16 of the third difference.
    """
    page = show("few")
    page.keyboard.press("Home")
    _, right, level = spot(page, ACCENT)
    page.keyboard.press("End")
    _, left, _ = spot(page, ACCENT)
    radius = (right - left) / (1.0 - math.cos(0.5 * END))
    bound = radius * 0.4**3 / 16.0 + PIXEL
    assert 2.0 * bound < radius * (1.0 - math.cos(0.2))
    page.keyboard.press("Home")
    page.select_option("#pace", "0.1")
    page.click("#play")
    between = []
    for _ in range(12):
        wind(page, 0.45)
        _, x, y = spot(page, ACCENT)
        angle = 0.1 * END * float(page.input_value("#place"))
        between.append(abs(page.evaluate("state.place % 1") - 0.5) < 0.3)
        exact = right - radius * (1.0 - math.cos(angle)), level - radius * math.sin(angle)
        assert math.hypot(x - exact[0], y - exact[1]) < bound
    assert sum(between) > 4


def test_zooming_keeps_what_is_under_the_pointer_and_a_double_click_fits(show):
    page = show()
    page.keyboard.press("Home")
    fitted, box = picture(page), page.locator("#view").bounding_box()
    assert box is not None
    count, x, y = spot(page, ACCENT)
    middle = page.evaluate(
        "[ROOM.left + (view.clientWidth - ROOM.left - ROOM.right) / 2,"
        " ROOM.top + (view.clientHeight - ROOM.top - ROOM.bottom) / 2]"
    )
    page.mouse.move(box["x"] + middle[0] + x, box["y"] + middle[1] + y)
    page.mouse.wheel(0, -100)
    page.wait_for_function("state.zoom > 1.2")
    np.testing.assert_allclose(spot(page, ACCENT)[1:], (x, y), atol=1.0)
    page.mouse.down()
    page.mouse.move(box["x"] + middle[0] + x - 60, box["y"] + middle[1] + y - 30)
    page.mouse.up()
    np.testing.assert_allclose(spot(page, ACCENT)[1:], (x - 60, y - 30), atol=1.0)
    assert picture(page) != fitted
    page.locator("#view").dblclick()
    assert picture(page) == fitted
    page.click("#farther")
    np.testing.assert_allclose(spot(page, ACCENT)[1:], (0.8 * x, 0.8 * y), atol=1.0)
    page.click("#fit")
    assert picture(page) == fitted
    assert spot(page, ACCENT)[0] == count


@pytest.mark.slow
def test_two_fingers_zoom(show):
    page = show(has_touch=True)
    page.keyboard.press("Home")
    touches = page.context.new_cdp_session(page)
    for kind, apart in (("touchStart", 60), ("touchMove", 90), ("touchMove", 120)):
        points = [{"x": 400 - apart, "y": 300, "id": 0}, {"x": 400 + apart, "y": 300, "id": 1}]
        touches.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    touches.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    assert page.evaluate("state.zoom") == pytest.approx(2.0, rel=1e-6)


def test_events_are_marked_and_can_be_gone_to(show):
    page = show()
    page.keyboard.press("Home")
    assert page.inner_text("#happened") == "2 events, none so far"
    marks = page.get_attribute("#marks path", "d")
    assert marks is not None
    assert marks.count("M") == 2
    page.click("#later")
    assert KNOCK <= time(page) < KNOCK + STEP
    assert page.inner_text("#happened") == "knock at 1.000 s (1 of 2)"
    page.keyboard.press("e")
    assert 2.5 * KNOCK <= time(page) < 2.5 * KNOCK + STEP
    page.keyboard.press("Shift+E")
    assert KNOCK <= time(page) < KNOCK + STEP


@pytest.mark.parametrize("name", [pytest.param("whole", marks=pytest.mark.slow), "close"])
def test_a_narrow_page_fits_and_fingers_hit_its_controls(show, name):
    page = show(name, wide=390, high=844, has_touch=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for control in page.locator("button:visible, select:visible, input:visible").all():
        box = control.bounding_box()
        assert box is not None
        assert min(box["width"], box["height"]) >= FINGER - 0.01
        assert box["x"] >= 0.0
        assert box["x"] + box["width"] <= 390.0
    box = page.locator("#play").bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= 844


@pytest.mark.slow
@pytest.mark.parametrize("dots", [1, 2, 3])
def test_the_canvas_has_the_pixels_of_the_screen_also_when_resized(show, dots):
    page = show(device_scale_factor=dots)
    for wide in (1000, 700):
        page.set_viewport_size({"width": wide, "height": 700})
        page.clock.run_for(100)
        page.wait_for_function(
            "([dots]) => view.width === Math.round(dots * view.clientWidth)"
            " && view.height === Math.round(dots * view.clientHeight)",
            arg=[dots],
        )
    assert page.evaluate("view.clientWidth") < 700


@pytest.mark.slow
def test_whoever_prefers_less_motion_begins_it(show):
    page = show(reduced_motion="reduce")
    assert page.inner_text("#play") == "Play"
    assert wind(page, 1.0) == 0.0
    page.click("#play")
    assert wind(page, 0.5) > 0.0


@pytest.mark.slow
def test_the_colours_are_those_of_the_reader_and_every_word_can_be_read(show):
    page = show(color_scheme="dark", reduced_motion="reduce")
    assert spot(page, (238, 154, 94))[0] > 20
    assert min(page.evaluate(TEXTS))[0] >= CONTRAST
    page.emulate_media(color_scheme="light")
    page.wait_for_function("palette.surface === '#fefefe'")
    assert spot(page, ACCENT)[0] > 20
    assert min(page.evaluate(TEXTS))[0] >= CONTRAST


def test_what_is_drawn_has_a_name_for_screen_readers(show):
    drawn = show().locator("canvas:not([aria-hidden=true])").all()
    assert drawn
    for one in drawn:
        assert one.get_attribute("role") == "img"
        assert one.get_attribute("aria-label")


def _scale(page: Page) -> float:
    """Return how many CSS pixels a metre of the drawing is."""
    return page.evaluate("prepare(view, corners(), ROOM).scale / film.unit")


@pytest.mark.parametrize("by", ["pointer", pytest.param("keys", marks=pytest.mark.slow)])
def test_a_drawing_in_space_turns_about_the_vertical_and_tilts(show, by):
    page = show("space")
    page.keyboard.press("Home")
    drawing = Drawing([Dot((0, 0, 0))], eye=(0.3, -1.0, 0.25))
    count, x, y = spot(page, ACCENT)
    assert count > 0
    # The middle of everything is the origin, within what the ball and the path reach.
    middle = np.array(page.evaluate("film.pivot")) * page.evaluate("film.unit")
    seen = drawing.axes @ CORNER - middle
    scale = _scale(page)
    np.testing.assert_allclose((x, -y), scale * seen[:2], atol=PIXEL)
    if by == "keys":
        for key in "lllkk":
            page.keyboard.press(key)
        azimuth, tilt = 0.3, 0.2
    else:
        page.mouse.move(500, 250)
        page.mouse.down()
        page.mouse.move(545, 280)
        page.mouse.up()
        azimuth, tilt = 45 / 150, 30 / 150
    cosine, sine = math.cos(azimuth), math.sin(azimuth)
    about = np.array([[cosine, -sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1.0]])
    turned = drawing.axes @ about @ (CORNER - drawing.axes.T @ middle)
    tilted = math.cos(tilt) * turned[1] - math.sin(tilt) * turned[2]
    _, x, y = spot(page, ACCENT)
    np.testing.assert_allclose((x, -y), (scale * turned[0], scale * tilted), atol=1.5 * PIXEL)
    page.click("#fit")
    _, x, y = spot(page, ACCENT)
    np.testing.assert_allclose((x, -y), scale * seen[:2], atol=PIXEL)


def test_shift_moves_a_drawing_in_space_and_it_tilts_no_farther_than_straight_down(show):
    page = show("space")
    page.keyboard.press("Home")
    _, x, y = spot(page, ACCENT)
    page.keyboard.down("Shift")
    page.mouse.move(500, 250)
    page.mouse.down()
    page.mouse.move(520, 240)
    page.mouse.up()
    page.keyboard.up("Shift")
    _, moved_x, moved_y = spot(page, ACCENT)
    assert (moved_x - x, moved_y - y) == pytest.approx((20, -10), abs=PIXEL)
    page.click("#fit")
    for _ in range(40):
        page.keyboard.press("k")
    # Straight down: what is above the middle of everything is seen on it.
    up = page.evaluate("turning(state.azimuth, state.tilt, [0, 0, 0])(...film.upright)")
    np.testing.assert_allclose(up, (0, 0, 1), atol=1e-12)
