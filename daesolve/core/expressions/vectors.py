"""Vectors of numbers for compiled code, as an LLVM type: any width on any processor.

Each function becomes one instruction or a few. `w` is a token for the width, which is a type: a
tuple of as many whole numbers. An address and an offset, in numbers, give the place in memory.
"""
# numba and llvmlite have no types for what happens when they compile.
# pyright: basic, reportCallIssue=false, reportArgumentType=false
# pyright: reportAttributeAccessIssue=false, reportReturnType=false

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

BLOCK = 8
"""How many numbers of a row are processed together."""
DOUBLE, INT32, INT64 = ir.DoubleType(), ir.IntType(32), ir.IntType(64)


class Vector(types.Type):
    """A vector of a given number of numbers."""

    def __init__(self, width: int) -> None:
        self.width = width
        super().__init__(name=f"Vector{width}")


@register_model(Vector)
class _Model(models.PrimitiveModel):
    def __init__(self, dmm, fe_type) -> None:
        super().__init__(dmm, fe_type, _llvm(fe_type.width))


def _llvm(width: int) -> ir.VectorType:
    return ir.VectorType(DOUBLE, width)


def width_of(token) -> int:
    """Return the width of a token, or of a vector."""
    return len(token.types) if isinstance(token, types.BaseTuple) else token.width


def _at(builder, width: int, address, offset):
    place = builder.gep(builder.inttoptr(address, DOUBLE.as_pointer()), [offset])
    return builder.bitcast(place, _llvm(width).as_pointer())


def read(builder, width: int, address, offset):
    """Read a vector."""
    return builder.load(_at(builder, width, address, offset), align=8)


def write(builder, width: int, address, offset, v):
    """Write a vector."""
    builder.store(v, _at(builder, width, address, offset), align=8)


def _repeated(builder, width: int, number):
    empty = ir.Constant(ir.VectorType(number.type, width), ir.Undefined)
    one = builder.insert_element(empty, number, ir.Constant(INT32, 0))
    zeros = ir.Constant(ir.VectorType(INT32, width), [0] * width)
    return builder.shuffle_vector(one, one, zeros)


def zero(width: int) -> ir.Constant:
    """Return a vector of zeros."""
    return ir.Constant(_llvm(width), [0.0] * width)


@intrinsic
def load(typingctx, w, address, offset):
    """Read a vector."""
    width = width_of(w)

    def generate(context, builder, signature, arguments):
        return read(builder, width, *arguments[1:])

    return Vector(width)(w, types.intp, types.intp), generate


@intrinsic
def load_block(typingctx, address, offset):
    """Read `BLOCK` numbers."""

    def generate(context, builder, signature, arguments):
        return read(builder, BLOCK, *arguments)

    return Vector(BLOCK)(types.intp, types.intp), generate


@intrinsic
def load_number(typingctx, address, offset):
    """Read a number."""

    def generate(context, builder, signature, arguments):
        place = builder.inttoptr(arguments[0], DOUBLE.as_pointer())
        return builder.load(builder.gep(place, [arguments[1]]))

    return types.float64(types.intp, types.intp), generate


@intrinsic
def store(typingctx, address, offset, v):
    """Write a vector."""

    def generate(context, builder, signature, arguments):
        address, offset, value = arguments
        write(builder, v.width, address, offset, value)
        return context.get_dummy_value()

    return types.void(types.intp, types.intp, v), generate


@intrinsic
def store_number(typingctx, address, offset, x):
    """Write a number."""

    def generate(context, builder, signature, arguments):
        place = builder.inttoptr(arguments[0], DOUBLE.as_pointer())
        builder.store(arguments[2], builder.gep(place, [arguments[1]]))
        return context.get_dummy_value()

    return types.void(types.intp, types.intp, types.float64), generate


@intrinsic
def full(typingctx, w, x):
    """Return a vector with one number in all places."""
    width = width_of(w)

    def generate(context, builder, signature, arguments):
        return _repeated(builder, width, arguments[1])

    return Vector(width)(w, types.float64), generate


@intrinsic
def first_of(typingctx, v, count):
    """Return a vector with its first numbers unchanged and the others zero."""

    def generate(context, builder, signature, arguments):
        counts = _repeated(builder, v.width, arguments[1])
        places = ir.Constant(ir.VectorType(INT64, v.width), list(range(v.width)))
        keep = builder.icmp_signed("<", places, counts)
        return builder.select(keep, arguments[0], zero(v.width))

    return v(v, types.intp), generate


def folded(builder, value, width: int):
    """Return the sum of a vector's numbers, by halves, as a vector of one."""
    while width > 1:
        width //= 2
        lower, upper = (
            ir.Constant(ir.VectorType(INT32, width), list(range(first, first + width)))
            for first in (0, width)
        )
        value = builder.fadd(
            builder.shuffle_vector(value, value, lower),
            builder.shuffle_vector(value, value, upper),
        )
    return value


def _operation(name: str):
    @intrinsic
    def operation(typingctx, u, v):
        def generate(context, builder, signature, arguments):
            return getattr(builder, name)(*arguments)

        return u(u, v), generate

    return operation


add, sub, mul, div = (_operation(name) for name in ("fadd", "fsub", "fmul", "fdiv"))


@intrinsic
def add_product(typingctx, found, u, v):
    """Return found + u v, rounded once where the processor can do so.

    Use it only within convolutions: a fused product next to a rounded one, as in a sum of a few
    terms, gives errors with a nonzero mean, which accumulates as an energy error over a long run.
    """

    def generate(context, builder, signature, arguments):
        found, u, v = arguments
        fuses = ("contract",)
        return builder.fadd(found, builder.fmul(u, v, flags=fuses), flags=fuses)

    return found(found, u, v), generate


@intrinsic
def neg(typingctx, v):
    """Return -v."""

    def generate(context, builder, signature, arguments):
        return builder.fneg(arguments[0])

    return v(v), generate


@intrinsic
def root(typingctx, v):
    """Return the square root."""

    def generate(context, builder, signature, arguments):
        kind = _llvm(v.width)
        name = f"llvm.sqrt.v{v.width}f64"
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(kind, [kind]), name
        )
        return builder.call(function, arguments)

    return v(v), generate


def _size(builder, v, value):
    negative = builder.fcmp_ordered("<", value, zero(v.width))
    return builder.select(negative, builder.fneg(value), value)


@intrinsic
def larger(typingctx, u, v):
    """Return the larger of u and |v|; |v| if that is not a number."""

    def generate(context, builder, signature, arguments):
        size = _size(builder, v, arguments[1])
        return builder.select(builder.fcmp_unordered(">", size, arguments[0]), size, arguments[0])

    return u(u, v), generate


@intrinsic
def chosen(typingctx, condition, u, v):
    """Return u if the condition is not zero, otherwise v."""

    def generate(context, builder, signature, arguments):
        holds = builder.fcmp_unordered("!=", arguments[0], zero(u.width))
        return builder.select(holds, *arguments[1:])

    return u(condition, u, v), generate


@intrinsic
def farther(typingctx, v, most):
    """Return 1 if |v| is larger than a number, otherwise 0."""

    def generate(context, builder, signature, arguments):
        size = _size(builder, v, arguments[0])
        beyond = builder.fcmp_ordered(">", size, _repeated(builder, v.width, arguments[1]))
        return builder.uitofp(beyond, _llvm(v.width))

    return v(v, types.float64), generate
