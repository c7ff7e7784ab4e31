"""What users pose: named symbols, goals, events, tables."""

from daesolve.core.posing.numpy_calls import explain_calls

explain_calls()
