"""What happens at an instant: resets, contacts that open and close, impacts."""
