"""The measurements of `tools/measure_structure.py`."""
