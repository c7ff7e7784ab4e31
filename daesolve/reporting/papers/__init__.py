"""Papers reproduced: figures and tables of publications, with published and exact values."""

from daesolve.reporting.papers.installed import paper, papers
from daesolve.reporting.papers.making import MadePaper, make
from daesolve.reporting.papers.paper import Compared, Item, MadeItem, Paper, Shown

__all__ = ["Compared", "Item", "MadeItem", "MadePaper", "Paper", "Shown", "make", "paper", "papers"]
