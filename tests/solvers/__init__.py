"""Tests of daesolve; they mirror the package."""
