"""Sliders in guides with dry friction: a cam follower, a drawer."""
