"""Whole numbers of a few 64-bit limbs, lowest first: tables of weights to 128 bits and beyond, compiled.

Weights here have three limbs and are at most 2^192; every multiplication rounds down by less than one
in the last place of the third limb, so errors are counted in units of 2^-192 of the largest weight.
"""

# mypy: ignore-errors
# (numba gives these functions their types)

import numpy as np
from llvmlite import ir
from numba import njit, types, uint64
from numba.extending import intrinsic

_32 = uint64(32)
_LOW = uint64(0xFFFFFFFF)


@intrinsic
def product(typingctx, a, b):
    """The 128-bit product of two words as (high, low): one instruction."""

    def build(context, builder, signature, args):
        wide = ir.IntType(128)
        found = builder.mul(builder.zext(args[0], wide), builder.zext(args[1], wide))
        high = builder.trunc(builder.lshr(found, ir.Constant(wide, 64)), ir.IntType(64))
        low = builder.trunc(found, ir.IntType(64))
        return context.make_tuple(builder, signature.return_type, (high, low))

    return types.UniTuple(types.uint64, 2)(types.uint64, types.uint64), build


@intrinsic
def trailing_zeros(typingctx, a):
    """The number of zero bits below the lowest set bit of a word that is not zero."""

    def build(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), build


@njit(cache=True)
def times_word(a, size, b):
    """a[:size+1] = a[:size]·b, in place."""
    carry = uint64(0)
    for i in range(size):
        high, low = product(a[i], b)
        low += carry
        if low < carry:
            high += uint64(1)
        a[i] = low
        carry = high
    a[size] = carry


@njit(cache=True)
def divide_small(a, size, b):
    """a[:size] //= b in place, 1 ≤ b < 2^32."""
    rest = uint64(0)
    for i in range(size - 1, -1, -1):
        upper = (rest << _32) | (a[i] >> _32)
        high = upper // b
        lower = ((upper - high * b) << _32) | (a[i] & _LOW)
        low = lower // b
        rest = lower - low * b
        a[i] = (high << _32) | low


@njit(cache=True)
def times(a, size, b, b_size, out):
    """out[:size+b_size] = a[:size]·b[:b_size]."""
    for i in range(size + b_size):
        out[i] = uint64(0)
    for j in range(b_size):
        carry = uint64(0)
        for i in range(size):
            high, low = product(a[i], b[j])
            low += carry
            if low < carry:
                high += uint64(1)
            low += out[i + j]
            if low < out[i + j]:
                high += uint64(1)
            out[i + j] = low
            carry = high
        out[size + j] = carry


@njit(cache=True)
def shift_down(a, size, bits, out, out_size):
    """out[:out_size] = a[:size] >> bits; what does not fit above is dropped."""
    whole = bits >> 6
    part = uint64(bits & 63)
    for i in range(out_size):
        j = i + whole
        value = uint64(0)
        if j < size:
            value = a[j] >> part
            if part > uint64(0) and j + 1 < size:
                value |= a[j + 1] << (uint64(64) - part)
        out[i] = value


@njit(cache=True)
def grow_even(count, first, factor, out):
    """Weights f(0), …, f(count-1) of an even law, f(0) = 2^192 - 1; out is count × 3.

    f(k+1) = f(k)·q(k), q(0) = `first`, q(k+1) = q(k)·`factor`, both below one in units of 2^-192; a
    discrete Laplace law has no third level: then `factor` is empty.
    """
    ratio = first.copy()
    wide = np.empty(6, dtype=np.uint64)
    for i in range(3):
        out[0, i] = uint64(0xFFFFFFFFFFFFFFFF)
    for k in range(1, count):
        times(out[k - 1], 3, ratio, 3, wide)
        for i in range(3):
            out[k, i] = wide[i + 3]
        if factor.size > 0:
            times(ratio, 3, factor, 3, wide)
            for i in range(3):
                ratio[i] = wide[i + 3]


@njit(cache=True)
def total_of(weights):
    """The sum of the weights, in four limbs."""
    total = np.zeros(4, dtype=np.uint64)
    for k in range(weights.shape[0]):
        carry = uint64(0)
        for i in range(3):
            value = total[i] + weights[k, i]
            over = uint64(value < weights[k, i])
            total[i] = value + carry
            carry = over + uint64(total[i] < carry)
        total[3] += carry
    return total


@njit(cache=True)
def thresholds(weights, inverse, bits, high, low):
    """high, low = (w_0 + … + w_k)·inverse >> bits for every k but the last, which is all ones.

    `inverse` is 2^(128+bits) divided by the sum of all, rounded down, in three limbs.
    """
    running = np.zeros(4, dtype=np.uint64)
    wide = np.empty(7, dtype=np.uint64)
    found = np.empty(2, dtype=np.uint64)
    last = weights.shape[0] - 1
    for k in range(last):
        carry = uint64(0)
        for i in range(3):
            value = running[i] + weights[k, i]
            over = uint64(value < weights[k, i])
            running[i] = value + carry
            carry = over + uint64(running[i] < carry)
        running[3] += carry
        times(running, 4, inverse, 3, wide)
        shift_down(wide, 7, bits, found, 2)
        high[k] = found[1]
        low[k] = found[0]
    high[last] = uint64(0xFFFFFFFFFFFFFFFF)
    low[last] = uint64(0xFFFFFFFFFFFFFFFF)
