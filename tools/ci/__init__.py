"""Run every check: what `.ci/run` does.

`parts.py` declares the parts, what each needs and how many processors it uses; `schedule.py` runs
them, so that both processors of a machine have work.
"""
