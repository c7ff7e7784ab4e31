"""What happens at an event: which are due, what they change, which contacts open and close."""
