"""What users pose: named symbols, goals, events, supports of guides."""

from daesolve.core.posing.numpy_calls import explain_calls

explain_calls()
