"""The pages of the site as text: what they show, and in which order."""

import re
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"
SHOWN = re.compile(r"^```\{(?:figure|image)\}|^!\[", re.MULTILINE)
CODE = re.compile(r"^```(?:python|py|bash|\{code-block\} python)$", re.MULTILINE)


def texts():
    """Every page by its name, and the README."""
    for page in (DOCS.parent / "README.md", *DOCS.glob("*.md"), *DOCS.glob("*/*.md")):
        yield page.relative_to(DOCS.parent).as_posix(), page.read_text(encoding="utf-8")


def test_every_picture_is_shown_by_a_page():
    told = " ".join(text for _, text in texts()) + (DOCS / "conf.py").read_text(encoding="utf-8")
    files = [file.name for file in (DOCS / "_static").iterdir() if file.is_file()]
    assert len(files) > 50
    assert [name for name in files if name not in told] == []


def test_guides_and_theory_show_a_picture_before_code():
    """A figure that belongs to a section lower down may follow; one comes first."""
    late = list[str]()
    for name, text in texts():
        if name.startswith(("docs/how-to/", "docs/theory/")):
            shown, code = SHOWN.search(text), CODE.search(text)
            if shown and code and code.start() < shown.start():
                late.append(name)
    assert late == []
