"""Taylor's method by a table of instructions that one compiled kernel walks, for all equations."""
