"""Random words as kernels read them: the compiled halves of `randomness.Source`.

A kernel walks `words` with a cursor `at`. Past the end a word reads as zero and the cursor goes on, so
that a kernel looks once per step (`at > words.size`: unfinished) and never reads outside the array.
Each function here uses the same words as its namesake on `Source` and returns the same value.
"""
# mypy: ignore-errors
# compiled code: numba decides the types, from arrays whose types its callers fix

import numpy as np
from numba import njit, uint64

_SURE = uint64(1 << 53)


@njit(cache=True, inline="always")
def word(words, at):
    """The word at the cursor, zero past the end."""
    if at < words.size:
        return words[at]
    return uint64(0)


@njit(cache=True)
def _refined(words, at, w):
    """A uniform whose first word is below 2^53: its leading zeros are its exponent, more words fill it."""
    exponent = -64
    while w == uint64(0):
        if at >= words.size:
            return 0.5, words.size + 1
        w = words[at]
        at += 1
        exponent -= 64
    zeros = 0
    while w < uint64(1 << 63):
        w <<= uint64(1)
        zeros += 1
    if zeros > 0:
        w |= word(words, at) >> uint64(64 - zeros)
        at += 1
    return np.ldexp(np.float64(w), exponent - zeros), at


@njit(cache=True, inline="always")
def uniform(words, at):
    """A uniform on (0, 1] with at least 53 significant bits however small it is; (value, cursor)."""
    w = word(words, at)
    if w >= _SURE:
        return np.float64(w) * 5.421010862427522e-20, at + 1
    return _refined(words, at + 1, w)


@njit(cache=True, inline="always")
def high_product(a, b):
    """The upper and lower 64 bits of the product of two words."""
    mask = uint64(0xFFFFFFFF)
    shift = uint64(32)
    a0, a1 = a & mask, a >> shift
    b0, b1 = b & mask, b >> shift
    low = a0 * b0
    middle = a1 * b0 + (low >> shift)
    other = a0 * b1 + (middle & mask)
    return a1 * b1 + (middle >> shift) + (other >> shift), a * b


@njit(cache=True, inline="always")
def below(words, at, n):
    """An integer uniform on 0 … n-1, exactly (Lemire's multiplication); `n` is a uint64; (value, cursor)."""
    high, low = high_product(word(words, at), n)
    at += 1
    if low < n:
        least = (uint64(0) - n) % n
        while low < least and at < words.size:
            high, low = high_product(words[at], n)
            at += 1
        if low < least:
            at = words.size + 1
    return high, at


@njit(cache=True)
def categorical(words, at, weights, scratch):
    """An index with probability proportional to `weights`; `scratch` is as long; (index, cursor).

    Inversion from both ends towards the largest weight, so that small probabilities keep their
    relative accuracy: see `Source.categorical`.
    """
    n = weights.size
    top = 0
    for i in range(1, n):
        if weights[i] > weights[top]:
            top = i
    left = 0.0
    for i in range(top):
        left += weights[i]
        scratch[i] = left
    right = 0.0
    for i in range(n - 1, top - 1, -1):
        right += weights[i]
        scratch[i] = right
    total = left + right
    u, at = uniform(words, at)
    target = u * total
    if target < left:
        i = top - 1
        while i > 0 and scratch[i - 1] >= target:
            i -= 1
        return i, at
    v, at = uniform(words, at)
    target = v * right
    i = top
    while i < n - 1 and scratch[i + 1] >= target:
        i += 1
    return i, at
