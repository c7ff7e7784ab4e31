"""A Gough-Stewart platform by daesolve and by Exudyn, side by side."""
