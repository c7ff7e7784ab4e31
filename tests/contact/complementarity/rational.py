"""Small problems of fractions, solved one variant at a time without rounding."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

Matrix = list[list[Fraction]]


def eliminated(matrix: Matrix, load: list[Fraction]) -> tuple[Fraction, list[Fraction] | None]:
    """Determinant and solution by elimination; None where the matrix is singular."""
    rows = [[*row, right] for row, right in zip(matrix, load, strict=True)]
    determinant = Fraction(1)
    for column in range(len(rows)):
        pivot = next((row for row in range(column, len(rows)) if rows[row][column]), None)
        if pivot is None:
            return Fraction(0), None
        if pivot != column:
            rows[column], rows[pivot] = rows[pivot], rows[column]
            determinant = -determinant
        determinant *= rows[column][column]
        for row in range(len(rows)):
            if row != column:
                factor = rows[row][column] / rows[column][column]
                rows[row] = [
                    one - factor * other for one, other in zip(rows[row], rows[column], strict=True)
                ]
    return determinant, [row[-1] / row[place] for place, row in enumerate(rows)]


def variants(
    first: list[list[int]], second: list[list[int]], load: list[int]
) -> dict[tuple[int, ...], tuple[Fraction, list[Fraction] | None]]:
    """Determinant and signed reactions of every variant."""
    pairs = range(len(load))
    found = {}
    for variant in product((1, 2), repeat=len(load)):
        matrix = [
            [Fraction(second[row][k] if variant[k] == 2 else -first[row][k]) for k in pairs]
            for row in pairs
        ]
        found[variant] = eliminated(matrix, [Fraction(number) for number in load])
    return found


def answers(
    first: list[list[int]], second: list[list[int]], load: list[int]
) -> dict[tuple[int, ...], tuple[Fraction, list[Fraction]]]:
    """Determinant and reactions of the variants whose reactions have the right signs."""
    return {
        variant: (determinant, reactions)
        for variant, (determinant, reactions) in variants(first, second, load).items()
        if reactions is not None
        and all(
            (-1) ** support * reaction >= 0
            for support, reaction in zip(variant, reactions, strict=True)
        )
    }
