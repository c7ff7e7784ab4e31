"""Large systems have functions of their own for each mode, without the contacts that are open."""

import itertools

import numpy as np
import pytest

import daesolve as ds
from daesolve.core.formulations import feedback
from daesolve.core.preparation.preparing import prepare
from daesolve.core.preparation.request import Request

BARS = """
<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1" friction="0.3"/>
    <body name="bar" pos="0 0 0.3" euler="0 20 0">
      <freejoint name="flies"/>
      <geom name="bar" type="capsule" fromto="-0.2 0 0 0.2 0 0" size="0.02" friction="0.3"/>
      <body name="arm" pos="0.2 0 0">
        <joint name="elbow" axis="0 1 0" range="-40 60"/>
        <geom name="arm" type="capsule" fromto="0 0 0 0.15 0 0.1" size="0.02" friction="0.3"/>
      </body>
    </body>
  </worldbody>
</mujoco>"""
THROWN = {"flies_y_dot": 0.4, "flies_w3": 1.0, "elbow_rate": 2.0}


@pytest.fixture(scope="module")
def mechanism(tmp_path_factory):
    path = tmp_path_factory.mktemp("files") / "bars.xml"
    path.write_text(BARS)
    return ds.multibody.read(path, contacts="rigid")


def run(mechanism):
    guess = mechanism.start_with(THROWN)
    return ds.solve(mechanism.system(), 0.33, guess=guess, redundant="minimum-norm")


def test_functions_of_a_mode_are_those_of_all_modes_there(mechanism, monkeypatch):
    monkeypatch.setattr(feedback, "MANY_INSTRUCTIONS", 0)
    request = Request(until=0.1, guess=mechanism.start_with(THROWN), redundant="minimum-norm")
    prepared = prepare(mechanism.system(), request)
    whole, x = prepared.problem, prepared.initial.copy()
    x += 1e-3 * np.random.default_rng(3).uniform(-1.0, 1.0, len(x))
    names = list(whole.values)
    without = prepared.values.copy()
    without[list(whole.holds)] = 0.0
    normals = [k for k in whole.holds if names[k].startswith("contact_")]
    for count in range(2):
        for closed in itertools.combinations(normals, count):
            p = without.copy()
            p[list(closed)] = 1.0
            own = whole.in_mode(p)
            # Functions for more contacts serve modes with fewer of them, too.
            assert whole.in_mode(without) is own
            assert own.rhs.n_instructions() < whole.rhs.n_instructions()
            for name in ("rhs", "recover", "residuals", "guards"):
                there = getattr(whole, name).call([0.2, x, p])
                for one, other in zip(getattr(own, name).call([0.2, x, p]), there, strict=True):
                    wanted = np.asarray(other)
                    # The same operations without zeros: they differ by their rounding.
                    size = 1e-9 * np.max(np.abs(wanted), initial=1.0)
                    np.testing.assert_allclose(np.asarray(one), wanted, rtol=1e-9, atol=size)


@pytest.mark.slow
def test_runs_with_functions_for_each_mode_are_those_without(mechanism, monkeypatch):
    whole = run(mechanism)
    monkeypatch.setattr(feedback, "MANY_INSTRUCTIONS", 0)
    parts = run(mechanism)
    assert [event.name for event in parts.events] == [event.name for event in whole.events]
    # Three contacts close, and two of them stick; nothing else is left to differ than rounding.
    assert len(whole.events) == 5
    for one, other in zip(parts.events, whole.events, strict=True):
        assert one.time == pytest.approx(other.time, abs=1e-12)
    for name in ("bar_z", "bar_w3"):
        size = float(np.max(np.abs(whole[name])))
        np.testing.assert_allclose(parts[name], whole[name], atol=1e-8 * size)
    for name, reaction in whole.reactions.items():
        size = float(np.max(np.abs(reaction), initial=1.0))
        np.testing.assert_allclose(parts.reactions[name], reaction, atol=1e-8 * size)
