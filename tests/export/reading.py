"""Reads LaTeX formulas back and evaluates them: by the rules of mathematics, not by the writer's.

Factors beside each other are multiplied; a function takes the symbol or the brackets behind it.
"""

import math
import re
from collections.abc import Mapping

TOKEN = re.compile(
    r"\\left\\lfloor|\\right\\rfloor|\\left.|\\right.|\\[A-Za-z]+|\\\\|\\,|[\d.]+|\S"
)
UNARY = {
    r"\sin": math.sin,
    r"\cos": math.cos,
    r"\tan": math.tan,
    r"\sinh": math.sinh,
    r"\cosh": math.cosh,
    r"\tanh": math.tanh,
    r"\arcsin": math.asin,
    r"\arccos": math.acos,
    r"\arctan": math.atan,
    r"\ln": math.log,
    r"\exp": math.exp,
    r"\min": min,
    r"\max": max,
}
CONSTANTS = {r"\pi": math.pi, r"\infty": math.inf, r"\mathrm{nan}": math.nan}
NAMED = {
    "atan2": math.atan2,
    "sign": lambda a: float((a > 0) - (a < 0)),
    "copysign": math.copysign,
}
COMPARED = {
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
    "=": lambda a, b: a == b,
    r"\le": lambda a, b: a <= b,
    r"\ge": lambda a, b: a >= b,
    r"\ne": lambda a, b: a != b,
}
ENDS = {"+", "-", "}", ",", "&", r"\\", r"\right)", r"\right|", r"\right]", r"\right\rfloor", ""}
ENDS |= {*COMPARED, r"\land", r"\lor", r"\end"}


def value(text: str, symbols: Mapping[str, float]) -> float:
    """Return the number that a formula stands for."""
    reader = _Reader(TOKEN.findall(text), symbols)
    found = reader.sum()
    assert reader.next == "", f"{reader.rest()} is left of {text}"
    return found


class _Reader:
    def __init__(self, tokens, symbols):
        self.tokens, self.symbols, self.place = tokens, symbols, 0

    @property
    def next(self):
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def rest(self):
        return " ".join(self.tokens[self.place :])

    def take(self, wanted=None):
        token = self.next
        assert wanted in (None, token), f"{wanted} was expected before {self.rest()}"
        self.place += 1
        return token

    def sum(self):
        total = 0.0
        sign = 1.0
        while True:
            if self.next in ("+", "-"):
                sign = -1.0 if self.take() == "-" else 1.0
            total += sign * self.product()
            if self.next not in ("+", "-"):
                return total

    def product(self):
        found = self.factor()
        while True:
            if self.next in (r"\cdot", r"\,"):
                self.take()
            elif self.next in ENDS:
                return found
            found *= self.factor()

    def factor(self):
        base = self.atom()
        if self.next == "^":
            base **= self.exponent()
        return base

    def exponent(self):
        self.take("^")
        return self.group()

    def group(self):
        self.take("{")
        found = self.sum()
        self.take("}")
        return found

    def words(self):
        """Return what stands between braces as it is."""
        self.take("{")
        depth, told = 1, ""
        while depth:
            token = self.take()
            depth += {"{": 1, "}": -1}.get(token, 0)
            told += token if depth else ""
        return told

    def arguments(self):
        self.take(r"\left(")
        found = [self.sum()]
        while self.next == ",":
            self.take()
            found.append(self.sum())
        self.take(r"\right)")
        return found

    def atom(self):
        token = self.take()
        if token[0].isdigit() or token[0] == ".":
            return float(token)
        if token == r"\frac":
            return self.group() / self.group()
        if token == r"\sqrt":
            return math.sqrt(self.group())
        if token in UNARY:
            power = self.exponent() if self.next == "^" else 1
            given = self.arguments() if self.next == r"\left(" else [self.atom()]
            return UNARY[token](*given) ** power
        if token == r"\operatorname":
            return NAMED[self.words()](*self.arguments())
        if token == r"\begin":
            return self.cases()
        if token in (r"\left(", r"\left|", r"\left[", r"\left\lfloor"):
            return self.closed(token)
        return self.symbol(token)

    def closed(self, opening):
        if opening == r"\left[":
            found = float(self.condition())
            self.take(r"\right]")
            return found
        found = self.sum()
        if opening == r"\left(":
            self.take(r"\right)")
        elif opening == r"\left|":
            self.take(r"\right|")
            return abs(found)
        else:
            self.take(r"\right\rfloor")
            return float(math.floor(found))
        return found

    def cases(self):
        assert self.words() == "cases"
        rows = []
        while True:
            found = self.sum()
            self.take("&")
            if self.next == r"\text":
                self.take()
                assert self.words() == "else"
                rows.append((found, True))
                self.take(r"\end")
                assert self.words() == "cases"
                return next(number for number, holds in rows if holds)
            rows.append((found, self.condition()))
            self.take(r"\\")

    def condition(self):
        if self.next == r"\lnot":
            self.take()
            return not self.bracketed_condition()
        if self.next == r"\left(":
            place = self.place
            try:
                return self.joined()
            except AssertionError:
                self.place = place
        first = self.sum()
        return COMPARED[self.take()](first, self.sum())

    def joined(self):
        found = self.bracketed_condition()
        assert self.next in (r"\land", r"\lor")
        how = self.take()
        other = self.bracketed_condition()
        return (found and other) if how == r"\land" else (found or other)

    def bracketed_condition(self):
        self.take(r"\left(")
        found = self.condition()
        self.take(r"\right)")
        return found

    def symbol(self, token):
        told = token
        if token in (r"\dot", r"\ddot", r"\mathrm"):
            told += "{" + self.words() + "}"
        if self.next == "_":
            told += self.take() + "{" + self.words() + "}"
        return CONSTANTS[told] if told in CONSTANTS else self.symbols[told]
