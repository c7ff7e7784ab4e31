"""Which tests a change can reach, by imports and by what tests read.

    python -m tools.reach                    # what changed since this branch left origin/main
    python -m tools.reach --base HEAD~3      # since it left another commit
    python -m tools.reach daesolve/a.py      # what a change of these files reaches
    python -m tools.reach --paths            # for pytest, one path a line

Nothing is imported; the syntax of all files is read. Where the syntax leaves a doubt, more tests
count as reached, and a file that no rule covers reaches all of them.

`code.py` reads what a file names, `modules.py` finds the files of these names, `rules.py` adds what
no import shows (entry points, commands, folders, data), `graph.py` follows all of it, and
`changes.py` asks git.
"""
