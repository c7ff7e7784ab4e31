"""Independent ground truth: exact or quadruple-precision motions, none of it from the library."""
