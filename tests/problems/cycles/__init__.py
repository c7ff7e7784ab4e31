"""Problems whose motions repeat."""
