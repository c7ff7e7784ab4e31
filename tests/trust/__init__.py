"""A battery of systems on which something could go wrong silently, each with its truth known."""
