"""Small motions, sensitivities, sections and exponents."""
