"""A problem in a file, of which sweeps are made."""

import pandas as pd

COSTS = ["wall_seconds", "compile_seconds"]

PLUGIN = """
import os
import signal

import daesolve as ds


def build(damped):
    q = ds.coordinates(x="m")
    p = ds.parameters(mass=(1.0, "kg", ds.POSITIVE), stiffness=(1.0, "N/m"), steps=(0.0, "kg/s"))
    loss = {"loss": (p.steps * q.dot.x**2, "W")} if damped else {}
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=p.mass * q.dot.x**2 / 2,
        potential=p.stiffness * q.x**2 / 2,
        force={"x": -p.steps * q.dot.x} if damped else {},
        outputs=loss,
    )


def start(values, parameters, structure):
    if parameters["mass"] == 13.0:
        raise ZeroDivisionError("thirteen")
    if parameters["mass"] == 17.0:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"x": values["amplitude"], "x_dot": 0.0}


problem = ds.Problem(
    name="mine",
    title="a mass on a spring",
    models={"linear": build},
    cases=[ds.Case("swing", until=1.0, start={"amplitude": 0.5})],
    structure={"damped": False},
    start=start,
)
"""


def alike(one, other):
    """Tell whether two tables of results are equal to the last bit, but for what they cost."""
    pd.testing.assert_frame_equal(
        one.drop(columns=COSTS), other.drop(columns=COSTS), check_exact=True, check_like=True
    )
    return True


def rows_of(table):
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


class Stop:
    """Interrupts a sweep as Ctrl-C does, after some members."""

    def __init__(self, after):
        self.after = after
        self.seen = []

    def __call__(self, state):
        self.seen.append(state)
        if state.done == self.after:
            raise KeyboardInterrupt
