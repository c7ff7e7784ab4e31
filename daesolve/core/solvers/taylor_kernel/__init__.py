"""Taylor's method for all equations by one compiled kernel, which walks a table of instructions."""
