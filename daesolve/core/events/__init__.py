"""Events at an instant: resets, contacts that open and close, impacts."""
