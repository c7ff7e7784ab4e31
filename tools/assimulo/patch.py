"""Bring the sources of Assimulo 3.0 up to what compilers, NumPy and SUNDIALS are today.

Usage: python patch.py SOURCE OLDER, the unpacked source distributions of 3.0 and of 2.9; the
first is changed in place. An edit that finds nothing to edit is an error.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path


def substitute(path: Path, pattern: str, replacement: str) -> None:
    """Replace all that matches a regular expression in a file; refuse when nothing does."""
    text = path.read_text(encoding="utf-8")
    changed, count = re.subn(pattern, replacement, text)
    if not count:
        sys.exit(f"{path}: nothing matches {pattern}")
    path.write_text(changed, encoding="utf-8")


def add_lost_interfaces(source: Path, older: Path) -> None:
    """Copy the interfaces (.pyf) of the Fortran codes, which the distribution of 3.0 left out."""
    for interface in older.glob("assimulo/thirdparty/*/*.pyf"):
        place = source / interface.relative_to(older)
        if not place.exists():
            shutil.copy2(interface, place)


def update_radau_interface(source: Path) -> None:
    """Tell of what 3.0 added to RADAU5: weighted errors that SOLOUT gets, a flag that FCN sets."""
    interface = source / "assimulo/thirdparty/hairer/radau_decsol.pyf"
    substitute(interface, r"intent\(hide\)( :: ipar\s+end subroutine fcn)", r"intent(out)\1")
    substitute(interface, r"(solout\(nrsol,xosol,xsol,y,cont),", r"\1,werr,")
    substitute(
        interface,
        r"( +double precision dimension\()4\*(nsolu\) :: )cont\n",
        r"\g<0>\1\2werr\n",
    )
    substitute(
        source / "assimulo/solvers/radau5.py",
        r"\(self, nrsol, told, t, y, cont, lrc, irtrn\)",
        "(self, nrsol, told, t, y, cont, werr, lrc, irtrn)",
    )


def fill_ragged_table(source: Path) -> None:
    """Complete a table of coefficients whose last row is one short, which NumPy 1.24 refuses."""
    path = source / "assimulo/solvers/odepack.py"
    substitute(path, r"(11804845\./141497517)\]\]\)", r"\1,0.]])")


def rename_what_numpy_removed(source: Path) -> None:
    """Replace the aliases of Python's types, and a module of SciPy that is private now."""
    package = source / "assimulo"
    for path in (file for end in ("py", "pyx", "pxi") for file in package.rglob(f"*.{end}")):
        if not {"tests", "examples"} & set(path.relative_to(package).parts):
            text = path.read_text(encoding="utf-8")
            text = re.sub(r"\b(N|np|numpy)\.float\b", r"\1.float64", text)
            text = re.sub(r"\b(N|np|numpy)\.int\b", r"\1.int32", text)
            text = re.sub(r"\b(N|np|numpy)\.bool\b", "bool", text)
            path.write_text(text.replace("csc.csc_matrix", "csc_matrix"), encoding="utf-8")


def stop_at_unexpected_errors(source: Path) -> None:
    """Make every Python error but a numerical one end the integration, as it does since 3.7.

    3.0 took all of them, Ctrl-C too, for a reason to try a shorter step.
    """
    substitute(
        source / "assimulo/lib/sundials_callbacks_ida_cvode.pxi",
        r"\n( +)except:\n +return CV_REC_ERR[^\n]*",
        r"\n\1except (N.linalg.LinAlgError, ZeroDivisionError, AssimuloRecoverableError):"
        r"\n\1    return CV_REC_ERR"
        r"\n\1except:"
        r"\n\1    traceback.print_exc()"
        r"\n\1    return CV_UNREC_RHSFUNC_ERR",
    )


def main() -> None:
    """Apply all patches."""
    source, older = map(Path, sys.argv[1:])
    for path in source.glob("assimulo/**/*.c"):
        if path.with_suffix(".pyx").exists():  # what an older Cython made of it
            path.unlink()
    add_lost_interfaces(source, older)
    update_radau_interface(source)
    fill_ragged_table(source)
    rename_what_numpy_removed(source)
    stop_at_unexpected_errors(source)


if __name__ == "__main__":
    main()
