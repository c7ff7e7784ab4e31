"""`python -m daesolve` is the command `daesolve`."""

from daesolve.cli import main

if __name__ == "__main__":
    main()
