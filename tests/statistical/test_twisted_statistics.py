"""Draws of the kernel of twisted columns against exact laws; each test rejects its near-wrong laws.

Each test compares one distribution function, with a false alarm of 1e-9 and a miss of 1e-9 for every
near-wrong law that it names; `check_law` computes the number of draws from their smallest discrepancy.
"""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from congenial.laws import DiscreteGaussian, DiscreteLaplace
from congenial.randomness import SeededSource
from congenial.samplers.crossing import _twisted_chance_kernels as kernels
from congenial.samplers.crossing._twisted_kernels import fill_columns, work_space
from congenial.samplers.crossing.tables import point, unary_from_law
from congenial.samplers.crossing.twisted import TwistedColumns
from support.statistics import check_law
from support.twisted_arrays import Array, prepared

COUNTS = np.array([[1, 0, 2], [0, 2, 1], [3, 1, 0]])
REACH = 14


def drawn(array: Array, n: int) -> np.ndarray:
    """`n` draws by the kernel, with a source that gives words in pieces."""
    plan = TwistedColumns().prepare(array)
    source, out, done = SeededSource(7), np.zeros((n, plan.width), dtype=np.int64), 0
    while done < n:
        words = source.take(1 << 18)
        draws, used = plan.fill(words, out[done:])
        source.give_back(len(words) - used)
        done += draws
    return out


def laws_of(law, counts=None, zeros=()):
    array = []
    for i in range(3):
        lower = [None if counts is None else -int(counts[i, j]) for j in range(3)]
        array.append([point() if (i, j) in zeros else cell(law, lower[j]) for j in range(3)])
    return array


def cell(law, lower):
    return unary_from_law(law, lower, None, -250.0)


def pmf(law, statistic, size, counts=None, zeros=()):
    """The law of a statistic of a 3×3 array (its last entry: everything beyond), by enumeration."""
    a = np.arange(-REACH, REACH + 1)
    free = np.array(np.meshgrid(a, a, a, a)).reshape(4, -1)
    z = np.empty((9, free.shape[1]), dtype=np.int64)
    z[[0, 1, 3, 4]] = free
    z[2], z[5] = -z[0] - z[1], -z[3] - z[4]
    z[6:] = -z[:3] - z[3:6]
    keep = (np.abs(z) <= 3 * REACH).all(axis=0)
    if counts is not None:
        keep &= (z >= -counts.reshape(9, 1)).all(axis=0)
    for i, j in zeros:
        keep &= z[3 * i + j] == 0
    z = z[:, keep]
    weights = law.weights(-4 * REACH, 4 * REACH)[z + 4 * REACH].prod(axis=0)
    return np.bincount(clipped(statistic, z.T, size), weights, minlength=size) / weights.sum()


def clipped(statistic, z, size):
    return np.clip(statistic(z), 0, size - 1)


def total_size(z):
    return np.abs(z).sum(axis=1)


def total_square(z):
    return (z * z).sum(axis=1)


def second_cell(z):
    return z[:, 1] + 8


def test_the_size_of_laplace_noise_has_its_law_and_a_law_three_percent_off_is_rejected():
    def law(epsilon):
        return pmf(DiscreteLaplace(epsilon), total_size, 60)

    evidence = check_law(
        lambda n: clipped(total_size, drawn(laws_of(DiscreteLaplace(1.0)), n), 60),
        law(1.0),
        {"epsilon 3 % larger": law(1.03), "epsilon 3 % smaller": law(0.97)},
    )
    assert evidence.draws <= 400_000


def test_the_size_of_gaussian_noise_has_its_law():
    def law(sigma):
        return pmf(DiscreteGaussian(sigma=sigma), total_square, 80)

    check_law(
        lambda n: clipped(total_square, drawn(laws_of(DiscreteGaussian(sigma=1.2)), n), 80),
        law(1.2),
        {"sigma 4 % larger": law(1.248), "sigma 4 % smaller": law(1.152)},
    )


def test_a_cell_among_nonnegative_counts_has_its_law():
    law = DiscreteLaplace(0.9)
    more = COUNTS.copy()
    more[0, 1] += 1
    check_law(
        lambda n: clipped(second_cell, drawn(laws_of(law, COUNTS), n), 24),
        pmf(law, second_cell, 24, COUNTS),
        {
            "the bound of the cell off by one": pmf(law, second_cell, 24, more),
            "no bounds": pmf(law, second_cell, 24),
            "epsilon 5 % larger": pmf(DiscreteLaplace(0.945), second_cell, 24, COUNTS),
        },
    )


def test_a_table_with_zeros_by_logic_has_its_law():
    law, zeros = DiscreteLaplace(0.7), ((0, 0), (1, 1))
    check_law(
        lambda n: clipped(total_size, drawn(laws_of(law, zeros=zeros), n), 60),
        pmf(law, total_size, 60, zeros=zeros),
        {
            "one zero left out": pmf(law, total_size, 60, zeros=zeros[:1]),
            "epsilon 3 % larger": pmf(DiscreteLaplace(0.721), total_size, 60, zeros=zeros),
        },
    )


@njit
def largest_factor(tables, draws, room):
    """The largest P(Σ Z = 0) / Π H on the way to each draw, and how many there were."""
    largest, looked_at = 0.0, 0
    remainders = np.zeros(tables.rows, dtype=np.int64)
    for n in range(draws.shape[0]):
        remainders[:] = 0
        for j in range(tables.columns - 1):
            if j > 0:
                bound = 1.0
                for i in range(tables.rows):
                    t = tables.row_class[i]
                    first, lowest = tables.windows[t, j, 0], tables.windows[t, j, 1]
                    bound *= tables.facts[first + remainders[i] - lowest, kernels.BOUND]
                chance = kernels.chance_of_sum(tables, j, remainders, 0, 0, room)
                largest = max(largest, chance / bound)
                looked_at += 1
            for i in range(tables.rows):
                remainders[i] -= draws[n, tables.place[i * tables.columns + j]]
    return largest, looked_at


@pytest.mark.long
@pytest.mark.parametrize(("size", "draws"), [(4, 500_000), (20, 1_000)])
def test_no_factor_exceeds_one_in_a_million_proposals(size, draws):
    # short windows: the inequality does not care, and every chance is worked out by direct convolution
    law = unary_from_law(DiscreteLaplace(1.0), None, None, -40.0)
    plan = prepared([[law] * size] * size, -30.0)
    tables, source = plan.built.tables, SeededSource(3)
    out, done = np.zeros((draws, plan.width), dtype=np.int64), 0
    while done < draws:
        words = source.take(1 << 20)
        some, used, _, _ = fill_columns(words, out[done:], tables, 0)
        source.give_back(len(words) - used)
        done += some
    largest, looked_at = largest_factor(tables, out, work_space(tables))
    assert looked_at == draws * (size - 2)
    assert 0.9 < largest <= 1.0
