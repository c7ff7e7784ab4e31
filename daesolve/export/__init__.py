"""Equations to use elsewhere: functions with names, modules of Python, C."""
