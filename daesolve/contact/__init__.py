"""Contact and dry friction: what opens, sticks and slides."""
