"""Mechanisms assembled from rigid bodies, joints, forces and contacts."""
