"""Bodies that touch: they slide, stick, lift off, strike, and come to rest."""
