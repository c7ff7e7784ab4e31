"""Papers reproduced: figures and tables of publications, with published and exact values."""

from daesolve.papers.installed import paper, papers
from daesolve.papers.making import MadePaper, make
from daesolve.papers.paper import Compared, Item, MadeItem, Paper, Shown

__all__ = ["Compared", "Item", "MadeItem", "MadePaper", "Paper", "Shown", "make", "paper", "papers"]
