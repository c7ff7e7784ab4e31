"""The vehicle with omni-wheels compared with a program written by hand for this vehicle alone."""
