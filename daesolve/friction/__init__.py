"""Dry friction: supports, pads and how they rub."""
