"""Problems and their cases, and how they are found."""
