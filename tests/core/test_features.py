"""What features add to the core, as laws, watches and methods, and that runs need none of it."""

from __future__ import annotations

import copy
import inspect
import pickle
import pydoc
import sys
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import metadata
from importlib.metadata import EntryPoint
from types import ModuleType

import numpy as np
import pytest

import daesolve as ds
from daesolve.core import features
from daesolve.core.features import Extended, added, register
from daesolve.core.run.integration.watches.watch import Watch
from daesolve.errors import PluginError
from tests.systems import pendulum

POINT = "methods of circles"


@dataclass(frozen=True)
class Circle(Extended, point=POINT):
    radius: float

    @property
    def area(self) -> float:
        raise AttributeError("nobody knows pi")

    @cached_property
    def diameter(self) -> float:
        return 2.0 * self.radius


class Wheel(Circle): ...


def scaled(circle: Circle, factor: float = 2.0, *, name: str = "") -> Circle:
    """Return a larger circle."""
    return replace(circle, radius=circle.radius * factor)


def radius(circle: Circle) -> float:
    return -1.0


@pytest.fixture
def alone(monkeypatch):
    """Let no feature add anything."""
    with monkeypatch.context() as emptied:
        emptied.setattr(features, "_registered", {})
        features.references.cache_clear()
        yield
    features.references.cache_clear()


@pytest.fixture
def package(alone, monkeypatch):
    """A package that offers features, as `offers` says, where daesolve adds none."""
    module = ModuleType("package_of_circles")
    module.offers = {}
    module.halved = lambda circle: scaled(circle, 0.5)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    entry = EntryPoint("circles", f"{module.__name__}:offers", features.GROUP)
    monkeypatch.setattr(metadata, "entry_points", lambda group: [entry])
    return module


@pytest.mark.usefixtures("alone")
def test_a_run_completes_where_no_feature_adds_anything():
    run = ds.solve(pendulum(), 10.0, {"x": 0.6})
    assert run.outcome is ds.Outcome.COMPLETED
    assert run.drift["energy"].max_relative < 1e-13
    with pytest.raises(ds.errors.UnsupportedError, match="no installed feature audits runs"):
        run.audit()
    assert not hasattr(run, "plot")
    assert run._repr_html_() is None


def stepped():
    simulator = ds.Simulator(pendulum(), {"x": 0.6})
    simulator.step(0.5)
    return simulator.trajectory()


def test_a_simulator_steps_alike_where_no_feature_adds_anything(request):
    pytest.importorskip("daesolve.verification")
    audited = stepped()
    request.getfixturevalue("alone")
    run = stepped()
    assert run.end_state == audited.end_state
    assert run.auditor is None
    assert audited.auditor is not None


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("verify", [True, "same", "dop853", ds.Dop853()])
def test_no_run_begins_that_nothing_can_verify(verify, tmp_path):
    with pytest.raises(ds.errors.UnsupportedError, match="leave out verify"):
        ds.solve(pendulum(), 10.0, {"x": 0.6}, verify=verify, store=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_stored_run_that_is_to_be_verified_goes_on_only_where_that_is_possible(tmp_path, request):
    ds.solve(pendulum(), 0.5, {"x": 0.6}, verify="same", store=tmp_path / "run")
    request.getfixturevalue("alone")
    with pytest.raises(ds.errors.UnsupportedError, match="no installed feature verifies runs"):
        ds.resume(tmp_path / "run", 1.0, source=pendulum())
    assert ds.Trajectory.from_run(tmp_path / "run").end_time == 0.5


@pytest.mark.usefixtures("alone")
def test_a_watch_ends_a_run_with_its_sentence(monkeypatch):
    seen = []

    class TooLarge(Watch):
        @classmethod
        def of(cls, prepared):
            return cls() if "x" in prepared.problem.labels.states else None

        def take(self, block, p):
            seen.append(block.times)

        def contradiction(self, record):
            return "x is too large"

        def notes(self, *, ended):
            return ["x was measured"]

    monkeypatch.setattr(sys.modules[__name__], "TooLarge", TooLarge, raising=False)
    register("watches", f"{__name__}:TooLarge")
    with pytest.warns(ds.errors.EndedEarlyWarning, match="x is too large"):
        run = ds.solve(pendulum(), 1.0, {"x": 0.6})
    assert run.outcome is ds.Outcome.CONTRADICTED
    assert run.message == "x is too large"
    assert "x was measured" in run.description["notes"]
    assert np.concatenate(seen)[-1] == 1.0


@pytest.mark.usefixtures("alone")
def test_a_feature_whose_module_or_room_is_not_there_adds_nothing():
    register(
        "laws",
        "daesolve.gone:Law",
        "daesolve.core.gone.inner:Law",
        "nowhere.at_all:Law",
        "daesolve.errors:PluginError",
    )
    assert added("laws") == (PluginError,)
    register(POINT, "daesolve.gone:scaled")
    assert "scaled" not in dir(Circle(1.0))
    assert not hasattr(Circle(1.0), "scaled")


@pytest.mark.usefixtures("alone")
def test_a_module_that_lacks_what_it_needs_is_no_missing_feature(tmp_path, monkeypatch):
    (tmp_path / "in_need.py").write_text("import nowhere_at_all")
    monkeypatch.syspath_prepend(tmp_path)
    register("laws", "in_need:Law")
    with pytest.raises(ModuleNotFoundError, match="nowhere_at_all"):
        added("laws")


def test_what_an_installed_package_offers_comes_before_what_daesolve_adds(package):
    package.offers = {"laws": ("daesolve.errors:DaesolveError",)}
    register("laws", "daesolve.errors:PluginError")
    assert [law.__name__ for law in added("laws")] == ["DaesolveError", "PluginError"]
    assert added("other laws") == ()


@pytest.mark.parametrize("offered", ["daesolve.errors:PluginError", [PluginError]])
def test_a_package_may_offer_one_reference_or_things_themselves(package, offered):
    package.offers = {"laws": offered}
    assert added("laws") == (PluginError,)


@pytest.mark.parametrize("offers", [{"laws": ["nowhere.at_all:Law"]}, ["laws"]])
def test_a_package_whose_feature_cannot_be_imported_is_named(package, offers):
    package.offers = offers
    with pytest.raises(PluginError, match="feature 'circles' \\(package_of_circles:offers"):
        added("laws")


def test_added_methods_work_and_look_like_those_of_the_class(package):
    package.offers = {POINT: ["package_of_circles:halved"]}
    register(POINT, f"{__name__}:scaled")
    circle = Circle(2.0)
    assert circle.scaled(3.0) == Circle(6.0)
    assert circle.halved() == Circle(1.0)
    assert Wheel(2.0).scaled() == Wheel(4.0)
    assert Circle.scaled is scaled
    assert {"halved", "scaled", "radius", "diameter"} <= {*dir(circle)}
    assert {"halved", "scaled", "diameter"} <= {*dir(Circle)}
    assert [*inspect.signature(circle.scaled).parameters] == ["factor", "name"]
    assert inspect.getdoc(circle.scaled) == "Return a larger circle."
    assert "Return a larger circle." in pydoc.render_doc(Circle, renderer=pydoc.plaintext)


@pytest.mark.usefixtures("alone")
def test_a_method_is_imported_when_it_is_used_and_a_question_for_another_imports_none(
    tmp_path, monkeypatch
):
    (tmp_path / "rolling.py").write_text("def roll(circle): return 'rolls'")
    monkeypatch.syspath_prepend(tmp_path)
    register(POINT, "rolling:roll")
    assert not hasattr(Circle(1.0), "slide")
    assert "roll" in dir(Circle(1.0))
    assert "rolling" not in sys.modules
    assert Circle(1.0).roll() == "rolls"
    del sys.modules["rolling"]


@pytest.mark.usefixtures("alone")
def test_what_a_class_has_itself_stays():
    register(POINT, f"{__name__}:radius")
    assert Circle(2.0).radius == 2.0


def test_two_methods_of_one_name_are_refused(package):
    package.offers = {POINT: ["daesolve.core.features:added"]}
    register(POINT, f"{__name__}:added")
    with pytest.raises(PluginError, match=r"'added' to the methods of circles: daesolve\.core\."):
        _ = Circle(1.0).scaled


@pytest.mark.usefixtures("alone")
def test_an_unknown_attribute_is_an_attribute_error_that_suggests_added_methods_too():
    register(POINT, f"{__name__}:scaled")
    for name, near in (("scald", "scaled"), ("raduis", "radius")):
        with pytest.raises(AttributeError, match=f"'{name}': did you mean '{near}'") as caught:
            getattr(Circle(1.0), name)
        assert caught.value.name == name
    with pytest.raises(AttributeError, match="'Circle' has no attribute 'scald': did you mean"):
        _ = Circle.scald
    with pytest.raises(AttributeError, match=r"'Circle' object has no attribute 'to_xml'$"):
        _ = Circle(1.0).to_xml


def test_private_names_and_a_property_that_fails_raise_as_without_features(package):
    package.offers = None  # a question to features would raise
    for name in ("__array__", "_repr_png_", "_radius"):
        assert not hasattr(Circle(1.0), name)
        assert not hasattr(Circle, name)
    with pytest.raises(AttributeError, match="nobody knows pi"):
        _ = Circle(1.0).area


@pytest.mark.usefixtures("alone")
def test_extended_objects_are_copied_replaced_and_pickled():
    register(POINT, f"{__name__}:scaled")
    circle = Circle(2.0)
    assert circle.diameter == 4.0
    for other in (
        copy.copy(circle),
        copy.deepcopy(circle),
        pickle.loads(pickle.dumps(circle)),
        replace(circle),
        pickle.loads(pickle.dumps(circle.scaled))(1.0),
    ):
        assert other == circle
        assert other.scaled() == Circle(4.0)
