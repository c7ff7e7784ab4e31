"""The vehicle with omni-wheels beside a program written by hand for it alone."""
