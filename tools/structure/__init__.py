"""What `tools/measure_structure.py` measures."""
