"""Names as LaTeX, and expressions as a graph whose operations are grouped for printing.

`x_dot` is a dotted x, `theta_1` has an index, a `mass` is m. Chains of additions become one sum,
chains of products and quotients one product of powers; a long part that occurs several times gets
its own name.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import casadi as ca

GREEK = frozenset(
    (
        *("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"),
        *("lambda", "mu", "nu", "xi", "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi"),
        *("omega", "Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Upsilon", "Phi"),
        *("Psi", "Omega"),
    )
)
USUAL = {
    "eps": r"\varepsilon",
    "friction": r"\mu",
    "gravity": "g",
    "height": "h",
    "inertia": "J",
    "length": "l",
    "mass": "m",
    "radius": "r",
    "stiffness": "k",
    "width": "w",
}
"""The usual letters of mechanics for words in names of parameters."""

KEPT = {"reaction": "R", "force": "F", "torque": r"\tau", "N": "N"}
"""Words of which the letter behind them is a component."""

REPEATED = 5
"""Operations that a name spares, from which on what occurs several times is named."""
LEAST_NAMED = 4
"""Operations below which nothing is named that fits on its line."""
LONG = 14
"""Operations beyond which a part of a formula is named wherever it occurs."""
LARGEST_DENOMINATOR = 360
NEARLY = 4e-16
"""The largest relative difference between a number and the fraction or root that is printed for
it."""
LARGEST_POWER = 12
PI = r"\pi"

COMMUTATIVE = frozenset({ca.OP_ADD, ca.OP_MUL})
LEAVES = frozenset({ca.OP_CONST, ca.OP_PARAMETER})

Node = tuple[int, tuple[int | float | str, ...]]
"""An operation and the nodes that it works on, or its number or name."""


def symbol(name: str) -> str:
    r"""Return a name as LaTeX: one word of it with the others as indices, `dot` as dots.

    That word is the first, unless it is long and a single letter comes later.

    Parameters
    ----------
    name
        Words of letters and digits, joined by underscores.

    Examples
    --------
    >>> symbol("theta_dot_1"), symbol("speed"), symbol("contact_x_dot")
    ('\\dot{\\theta}_{1}', '\\mathrm{speed}', '\\dot{x}_{\\mathrm{contact}}')
    """
    words = [word for word in name.split("_") if word]
    dots = words.count("dot")
    words = [word for word in words if word != "dot"] or words[:1]
    first = words.pop(_leading(words))
    numbered = re.fullmatch(r"([A-Za-z]+)(\d+)", first)
    if numbered:
        first, words = numbered[1], [numbered[2], *words]
    return _indexed(_dotted(_word(first), dots), words)


def _leading(words: Sequence[str]) -> int:
    """Return the place of the word that becomes the symbol."""
    if len(words[0]) > 1 and words[0] not in (*GREEK, *KEPT):
        for place, word in enumerate(words):
            if re.fullmatch(r"[A-Za-z]\d?", word):
                return place
    return 0


def parameter_symbol(name: str) -> str:
    r"""Return the name of a parameter as LaTeX, with the usual letter for one of its words.

    Examples
    --------
    >>> parameter_symbol("wheel_mass"), parameter_symbol("mass_1"), parameter_symbol("curve_a")
    ('m_{\\mathrm{wheel}}', 'm_{1}', 'a_{\\mathrm{curve}}')
    """
    words = [word for word in name.split("_") if word]
    for place in reversed(range(len(words))):
        if words[place] in USUAL:
            letter = words.pop(place)
            return _indexed(USUAL[letter], words)
    return symbol(name)


def letters(parameters: Iterable[str], others: Iterable[str]) -> dict[str, str]:
    """Return a distinct symbol for each name.

    Parameters
    ----------
    parameters
        Names whose words may have usual letters.
    others
        Names of states, reactions and the like.
    """
    found = {name: symbol(name) for name in others}
    own = {name: parameter_symbol(name) for name in parameters}
    taken = Counter([*found.values(), *own.values()])
    plain = {name: text if taken[text] == 1 else symbol(name) for name, text in own.items()}
    found |= plain
    taken = Counter(found.values())
    return {
        name: text if taken[text] == 1 else f"\\mathrm{{{name.replace('_', chr(92) + '_')}}}"
        for name, text in found.items()
    }


def _word(word: str) -> str:
    if word in GREEK:
        return f"\\{word}"
    if word in KEPT:
        return KEPT[word]
    if re.fullmatch(r"[A-Za-z]\d*|\d+", word):
        return word
    if word.isalnum() and word.isascii():
        return f"\\mathrm{{{word}}}"
    # Names of goals may have any characters: those outside this set become dashes.
    return f"\\text{{{re.sub(r'[^A-Za-z0-9 .,:()+-]', '-', word)}}}"


def _dotted(text: str, dots: int) -> str:
    return f"\\{'d' * dots}ot{{{text}}}" if 0 < dots <= 4 else text


def _indexed(text: str, words: Iterable[str]) -> str:
    indices = ",".join(map(_word, words))
    return f"{text}_{{{indices}}}" if indices else text


@dataclass(frozen=True)
class Sum:
    """Terms, each with how often it is added; less than zero where it is taken away."""

    terms: tuple[tuple[Fraction, int], ...]


@dataclass(frozen=True)
class Product:
    """A number and powers of nodes."""

    number: Fraction
    powers: Mapping[int, int]


@dataclass(frozen=True)
class Cases:
    """Values with their conditions, and the value where none holds."""

    rows: tuple[tuple[int, int], ...]
    otherwise: int


@dataclass(frozen=True)
class Call:
    """Any other operation, or a leaf."""

    operands: tuple[int, ...]


Form = Sum | Product | Cases | Call


class Graph:
    """Expressions that share equal parts; a number identifies a node.

    Parameters
    ----------
    least_named
        Operations below which nothing is named that fits on its line.

    Attributes
    ----------
    nodes
        The operation of each node, and what it works on.
    forms
        How nodes are printed.
    sizes
        How many operations are printed of each.
    named
        The nodes that are printed by a name.
    """

    def __init__(self, least_named: int = LEAST_NAMED) -> None:
        self._least_named = least_named
        self.nodes: list[Node] = []
        self.forms: dict[int, Form] = {}
        self.sizes: dict[int, int] = {}
        self.named: set[int] = set()
        self._places: dict[Node, int] = {}

    def operation(self, node: int) -> int:
        """Return the code of a node's operation."""
        return self.nodes[node][0]

    def settle(self, roots: Sequence[int], order: Sequence[int]) -> None:
        """Find the forms of nodes, each after its parts, and which are named."""
        uses = Counter(child for node in order for child in self.operands(node))
        uses.update(roots)
        for node in order:
            if node not in self.forms:
                self.forms[node] = self._form(node)
                self.sizes[node] = self._size(self.forms[node], node)
            size = self.sizes[node]
            if size >= self._least_named and (uses[node] - 1) * size >= REPEATED:
                self.named.add(node)

    def name_denominators(self, roots: Sequence[int]) -> None:
        """Give names to sums that appear in several denominators."""
        uses: Counter[int] = Counter()
        for node in self.below(roots, self.operands):
            operation, operands = self.operation(node), self.operands(node)
            if operation not in (ca.OP_DIV, ca.OP_INV):
                continue
            pending = [operands[-1]]
            while pending:
                factor = pending.pop()
                operation = self.operation(factor)
                if operation in (ca.OP_ADD, ca.OP_SUB):
                    uses[factor] += 1
                elif operation in (ca.OP_MUL, ca.OP_SQ, ca.OP_TWICE, ca.OP_POW, ca.OP_CONSTPOW):
                    pending += self.operands(factor)
        self.named |= {node for node, count in uses.items() if count > 1}

    def enter(self, expression: ca.SX) -> int:
        """Return the node of an expression; equal ones are one."""
        known: dict[int, int] = {}
        pending = [ca.SX(expression)]
        while True:
            element = pending[-1]
            children = [element.dep(k) for k in range(element.n_dep())]
            missing = [child for child in children if child.element_hash() not in known]
            if missing:
                pending += reversed(missing)
                continue
            pending.pop()
            node = self._node(element, [known[child.element_hash()] for child in children])
            known[element.element_hash()] = node
            if not pending:
                return node

    def _node(self, element: ca.SX, children: Sequence[int]) -> int:
        if element.is_constant():
            node: Node = (ca.OP_CONST, (float(element),))
        elif element.is_symbolic():
            node = (ca.OP_PARAMETER, (element.name(),))
        else:
            node = (element.op(), tuple(children))
        key = (node[0], tuple(sorted(children))) if node[0] in COMMUTATIVE else node
        if key not in self._places:
            self._places[key] = len(self.nodes)
            self.nodes.append(node)
        return self._places[key]

    def operands(self, node: int) -> tuple[int, ...]:
        """Return the parts of a node."""
        operation, operands = self.nodes[node]
        return () if operation in LEAVES else operands  # pyright: ignore[reportReturnType]

    def below(self, roots: Iterable[int], of: Callable[[int], Sequence[int]]) -> list[int]:
        """Return the nodes that are reached, each after its operands."""
        seen: set[int] = set()
        pending = [*roots]
        while pending:
            node = pending.pop()
            if node not in seen:
                seen.add(node)
                pending += of(node)
        return sorted(seen)

    def _form(self, node: int) -> Form:
        operation, operands = self.nodes[node][0], self.operands(node)
        if operation in (ca.OP_ADD, ca.OP_SUB):
            cases = self._as_cases(operands) if operation == ca.OP_ADD else None
            if cases is not None:
                return cases
            sign = 1 if operation == ca.OP_ADD else -1
            return self._gathered([*self._added(operands[0], 1), *self._added(operands[1], sign)])
        if operation == ca.OP_NEG and isinstance(self.opened(operands[0]), Sum):
            return self._gathered(self._added(operands[0], -1))
        if operation == ca.OP_IF_ELSE_ZERO:
            zero = self._node(ca.SX(0), [])
            self.forms.setdefault(zero, Call(()))
            self.sizes.setdefault(zero, 0)
            return Cases(((operands[1], operands[0]),), zero)
        product = self._as_product(operation, operands)
        if product is None:
            for child in operands:
                self._name_if_long(child)
            return Call(operands)
        return product

    def opened(self, node: int) -> Form | None:
        """Return the form of a node; None if it is a name."""
        return None if node in self.named else self.forms[node]

    def _added(self, node: int, sign: int) -> list[tuple[Fraction, int]]:
        form = self.opened(node)
        if isinstance(form, Sum):
            return [(sign * count, term) for count, term in form.terms]
        return [(Fraction(sign), node)]

    def _gathered(self, terms: Iterable[tuple[Fraction, int]]) -> Sum:
        """Return a sum in which terms that differ by a number alone occur once."""
        first: dict[object, int] = {}
        counts: dict[int, Fraction] = {}
        for count, node in terms:
            form = self.opened(node)
            key: object = node
            if isinstance(form, Product) and form.number:
                key = frozenset(form.powers.items())
            leader = first.setdefault(key, node)
            share = Fraction(1)
            if leader != node:
                share = self._factor_of(node) / self._factor_of(leader)
            counts[leader] = counts.get(leader, Fraction(0)) + count * share
        return Sum(tuple((count, node) for node, count in counts.items() if count))

    def _factor_of(self, node: int) -> Fraction:
        form = self.opened(node)
        return form.number if isinstance(form, Product) else Fraction(1)

    def _as_product(self, operation: int, operands: tuple[int, ...]) -> Product | None:
        first = operands[0] if operands else 0
        if operation in (ca.OP_MUL, ca.OP_DIV):
            power = 1 if operation == ca.OP_MUL else -1
            return times(self.raised(first, 1), self.raised(operands[1], power))
        if operation == ca.OP_NEG:
            return times(Product(Fraction(-1), {}), self.raised(first, 1))
        if operation == ca.OP_TWICE:
            return times(Product(Fraction(2), {}), self.raised(first, 1))
        if operation == ca.OP_SQ:
            return self.raised(first, 2)
        if operation == ca.OP_INV:
            return self.raised(first, -1)
        if operation in (ca.OP_POW, ca.OP_CONSTPOW):
            exponent = self.constant(operands[1])
            if exponent and exponent.is_integer() and abs(exponent) <= LARGEST_POWER:
                return self.raised(first, int(exponent))
        return None

    def raised(self, node: int, power: int) -> Product:
        """Return a power of a node as a product."""
        form = self.opened(node)
        if isinstance(form, Sum) and self.nodes[node][0] == ca.OP_NEG:
            sign = Product(Fraction((-1) ** abs(power)), {})
            return times(sign, self.raised(self.operands(node)[0], power))
        if isinstance(form, Product):
            simple = power in (1, -1) or form.number.denominator == 1
            if simple and (form.number or power > 0):
                powers = {factor: own * power for factor, own in form.powers.items()}
                return Product(form.number**power, powers)
        number = self.constant(node)
        if number is not None and math.isfinite(number) and (number or power > 0):
            multiple = rational(number / math.pi)
            if number and float(multiple) * math.pi == number and multiple.denominator < 100:
                return Product(multiple**power, {self._node_of(PI): power})
            if power in (1, -1):
                return Product(rational(number) ** power, {})
        self._name_if_long(node)
        return Product(Fraction(1), {node: power})

    def _node_of(self, name: str) -> int:
        """Return the node of a symbol that no expression brought."""
        node: Node = (ca.OP_PARAMETER, (name,))
        place = self._places.setdefault(node, len(self.nodes))
        if place == len(self.nodes):
            self.nodes.append(node)
        self.forms.setdefault(place, Call(()))
        self.sizes.setdefault(place, 0)
        return place

    def _as_cases(self, operands: tuple[int, ...]) -> Cases | None:
        """Return what `if_else` makes: (c ? a : 0) + (not c ? b : 0)."""
        if any(self.nodes[one][0] != ca.OP_IF_ELSE_ZERO or one in self.named for one in operands):
            return None
        (condition, value), (opposite, other) = map(self.operands, operands)
        if self.nodes[opposite] == (ca.OP_NOT, (condition,)):
            further = self.opened(other)
            if isinstance(further, Cases):
                return Cases(((value, condition), *further.rows), further.otherwise)
            return Cases(((value, condition),), other)
        return None

    def constant(self, node: int) -> float | None:
        """Return the number that a node is; None if it is not a number."""
        operation, operands = self.nodes[node]
        return float(operands[0]) if operation == ca.OP_CONST else None

    def _name_if_long(self, node: int) -> None:
        if self.sizes[node] > LONG:
            self.named.add(node)

    def _size(self, form: Form, node: int) -> int:
        """Return how many operations are printed."""
        inside = [part for part in constituents(form) if part not in self.named]
        own = max(len(constituents(form)) - 1, int(self.operation(node) not in LEAVES))
        if isinstance(form, Product):
            own += sum(power != 1 for power in form.powers.values())
        return own + sum(self.sizes[part] for part in inside)


def constituents(form: Form) -> tuple[int, ...]:
    """Return the nodes that a form is printed from."""
    if isinstance(form, Sum):
        return tuple(term for _, term in form.terms)
    if isinstance(form, Product):
        return tuple(form.powers)
    if isinstance(form, Cases):
        return (*(node for row in form.rows for node in row), form.otherwise)
    return form.operands


def times(first: Product, second: Product) -> Product:
    """Return the product of two products."""
    powers = dict(first.powers)
    for node, power in second.powers.items():
        powers[node] = powers.get(node, 0) + power
    kept = {node: power for node, power in powers.items() if power}
    return Product(first.number * second.number, kept)


def rational(number: float) -> Fraction:
    """Return a number as the fraction that it probably means."""
    near = Fraction(number).limit_denominator(LARGEST_DENOMINATOR)
    return near if math.isclose(near, number, rel_tol=NEARLY) else Fraction(repr(number))
