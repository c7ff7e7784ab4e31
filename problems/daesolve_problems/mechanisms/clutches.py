"""Three shafts and two clutches, which slip, stick and slip again.

An engine, a gearbox and a load turn about one axis. A clutch couples the engine and the gearbox,
another the gearbox and the load. Each is pressed together, from 0 (open) to 1. While it slips it
carries a proportional torque; while it sticks, the torque that keeps both sides together, up to
`static_share` times as much. The unknown reactions are the torques of clutches that stick. Nothing
is conserved: clutches that slip heat up.

    engine_inertia omega_1' = torque - C_1
    gearbox_inertia omega_2' = C_1 - C_2
    load_inertia omega_3' = C_2 - drag omega_3 - load

C_k = pressure_k capacity_k sign(slip) while clutch k slips, a reaction while it sticks. The torques
of the engine and the load and both pressures are inputs: numbers, expressions of time, measured
tables.

`heat_k` is the heat of clutch k, `engine_work` the work of the engine, and `load_work` the work
taken by the load.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca

import daesolve as ds
from daesolve.multibody import Coulomb
from daesolve.multibody.drawing import Camera, Circle, Drawing, Linear
from daesolve_problems.figures import Document, column, panels_over_time, series

if TYPE_CHECKING:
    from matplotlib.figure import Figure


SHAFTS = ("engine", "gearbox", "load")
NOTHING = 1e-9
"""A pressure this far below zero is rounding."""


def shafts() -> ds.MechanicalSystem:
    """Pose three shafts with two clutches."""
    q = ds.coordinates(engine="rad", gearbox="rad", load="rad")
    p = ds.parameters(
        engine_inertia=(0.2, "kg m^2", ds.POSITIVE),
        gearbox_inertia=(0.05, "kg m^2", ds.POSITIVE),
        load_inertia=(1.5, "kg m^2", ds.POSITIVE),
        capacity_1=(150.0, "N m", ds.NON_NEGATIVE),
        capacity_2=(120.0, "N m", ds.NON_NEGATIVE),
        static_share=(1.2, "", ds.Interval(1.0)),
        drag=(0.3, "N m s/rad", ds.NON_NEGATIVE),
    )
    u = ds.inputs(
        torque=(0.0, "N m"), resistance=(0.0, "N m"), pressure_1=(1.0, ""), pressure_2=(1.0, "")
    )
    law = Coulomb(1.0, p.static_share)
    slips = q.dot.engine - q.dot.gearbox, q.dot.gearbox - q.dot.load
    carried = p.capacity_1 * u.pressure_1, p.capacity_2 * u.pressure_2
    first, second = (
        law.act(f"clutch_{k}", slip, limit, unit="N m")
        for k, (slip, limit) in enumerate(zip(slips, carried, strict=True), start=1)
    )
    resisted = p.drag * q.dot.load + u.resistance
    works = ds.states(heat_1="J", heat_2="J", engine_work="J", load_work="J")
    inertias = p.engine_inertia, p.gearbox_inertia, p.load_inertia
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=sum(J * q.dot[name] ** 2 for J, name in zip(inertias, SHAFTS, strict=True)) / 2,
        goals=[*first.goals, *second.goals],
        force={
            "engine": u.torque + first.force,
            "gearbox": second.force - first.force,
            "load": -second.force - resisted,
        },
        discrete=[first.discrete, second.discrete],
        events=[*first.events, *second.events, _pulled_apart(u.pressure_1, u.pressure_2)],
        inputs=u,
        quadratures=works,
        integrands={
            "heat_1": -first.power,
            "heat_2": -second.power,
            "engine_work": u.torque * q.dot.engine,
            "load_work": resisted * q.dot.load,
        },
        outputs={
            "clutch_1_torque": (-first.total, "N m"),
            "clutch_2_torque": (-second.total, "N m"),
            "clutch_1_slip": (slips[0], "rad/s"),
            "clutch_2_slip": (slips[1], "rad/s"),
        },
    )


def _pulled_apart(*pressures: ca.SX) -> ds.Event:
    """Return what ends a run in which a clutch is pressed with less than nothing."""
    why = "a pressure is negative, but clutches only push together: give 0 for an open one"
    guards = [-pressure - NOTHING for pressure in pressures]
    return ds.Event("negative_pressure", guards, ds.RISING, ds.Stop(why, whenever_past=True))


# -- pictures ------------------------------------------------------------------------------------


def drawing(document: Document) -> Drawing:
    """Draw the three shafts from the front, side by side, each with a mark that turns."""
    shapes = [
        Circle((place, 0.0), 1.0, Linear({name: 1.0}), spokes=1, label=name)
        for place, name in zip((-2.5, 0.0, 2.5), SHAFTS, strict=True)
    ]
    return Drawing(shapes, camera=Camera((0.0, 0.0), 9.0))


def speeds(document: Document) -> Figure:
    """Draw the speeds of the shafts, the torques of the clutches, and their heat."""
    times = series(document, "times")
    figure, panels = panels_over_time(3)
    for name in SHAFTS:
        panels[0].plot(times, column(document, f"{name}_dot"), linewidth=1.0, label=name)
    for k in (1, 2):
        label = f"clutch {k}"
        torque, heat = column(document, f"clutch_{k}_torque"), column(document, f"heat_{k}")
        panels[1].plot(times, torque, linewidth=1.0, label=label)
        panels[2].plot(times, heat / 1e3, linewidth=1.0, label=label)
    labels = ("speed (rad/s)", "torque (N m)", "heat (kJ)")
    for axes, label in zip(panels, labels, strict=True):
        axes.set_ylabel(label)
        axes.legend(frameon=False, fontsize="small")
    return figure


problem = ds.Problem(
    "clutches",
    title="Two clutches that slip and stick",
    models={"shafts": shafts},
    sources=["R. Isermann, Mechatronic Systems: Fundamentals (2005)"],
    drawing=drawing,
    figures={"speeds, torques, heat": speeds},
    cases=[
        ds.Case(
            "engage",
            start={"engine_dot": 150.0, "gearbox_dot": 0.0, "load_dot": 0.0},
            until=4.0,
            inputs={"torque": 60.0, "pressure_1": "min(max((t - 0.2) / 0.8, 0.02), 1)"},
            note="the first clutch closes on a running engine; the second sticks from the start",
        ),
        ds.Case(
            "overload",
            start={"engine_dot": 120.0, "gearbox_dot": 120.0, "load_dot": 120.0},
            parameters={"capacity_2": 110.0},
            until=3.0,
            inputs={"torque": 100.0, "resistance": "350 * max(sin(4 * t), 0)"},
            note="blows of the load let the second clutch slip, and stick again",
        ),
        ds.Case(
            "shift",
            start={"engine_dot": 120.0, "gearbox_dot": 120.0, "load_dot": 120.0},
            until=3.0,
            inputs={
                "torque": "where(t < 0.3, 80, where(t < 1, -20, 80))",
                "pressure_1": "where(t < 0.3, 1, min(max((t - 0.8) / 0.6, 0.01), 1))",
            },
            note="the first clutch opens, the engine slows down, and it closes again",
        ),
    ],
)
