"""Test sets of the field and classics of mechanics, one module each."""
