"""The papers behind daesolve's first problems, reproduced in a module each."""
