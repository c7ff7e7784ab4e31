"""Papers made again: every figure and table of a publication, published and exact side by side."""

from daesolve.papers.installed import paper, papers
from daesolve.papers.making import MadePaper, make
from daesolve.papers.paper import Compared, Item, MadeItem, Paper, Shown

__all__ = ["Compared", "Item", "MadeItem", "MadePaper", "Paper", "Shown", "make", "paper", "papers"]
