"""The reactions eliminated, symbolically and in a straight line."""
