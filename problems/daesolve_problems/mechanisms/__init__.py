"""Mechanisms that are assembled from bodies, joints, springs and contacts of `daesolve`."""
