"""Pages that compute: a run whose motion a reader can change, without Python and offline."""
