"""Papers reproduced: figures and tables of publications, with published and exact values."""

from daesolve.reporting.papers.page import MadePaper, make
from daesolve.reporting.papers.paper import Compared, Item, MadeItem, Paper, Shown, paper, papers

__all__ = ["Compared", "Item", "MadeItem", "MadePaper", "Paper", "Shown", "make", "paper", "papers"]
