"""Vehicles from above that are steered, or steer themselves: trailers, casters, a racer, a car."""
