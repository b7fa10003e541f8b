"""Sources: words that serve once, exact integers, and what a source refuses."""

import copy
import multiprocessing
import os
import pickle
import threading
from itertools import islice

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from congenial.errors import ArgumentError
from congenial.randomness import BLOCK, LANES_16, SeededSource, Source, SystemSource
from support.words import Listed, some_words

KEY = bytes(range(32))


def stream(n):
    zeros = bytes(8 * n)
    made = Cipher(algorithms.AES(KEY), modes.CTR(bytes(16))).encryptor().update(zeros)
    return np.frombuffer(made, dtype=np.uint64)


def test_words_are_the_key_stream_in_order_however_they_are_taken():
    source = Source(KEY)
    expected = stream(6 * BLOCK)
    rng = np.random.default_rng(0)
    at = 0
    while at < 4 * BLOCK:
        n = int(rng.choice([1, 2, 7, 300, BLOCK, BLOCK + 3]))
        found = source.at_hand(n) if rng.random() < 0.5 else source.take(n)
        assert len(found) >= n
        assert (found == expected[at : at + len(found)]).all()
        back = int(rng.integers(0, len(found) + 1))
        source.give_back(back)
        at += len(found) - back


def test_words_that_were_handed_out_never_change():
    source = Source(KEY)
    held = [source.take(n) for n in (3, BLOCK, 10, 2 * BLOCK, 1, BLOCK - 1)]
    kept = [words.copy() for words in held]
    for _ in range(20):
        source.at_hand()
    assert all((a == b).all() for a, b in zip(held, kept, strict=True))


def test_the_buffer_is_used_again_when_nobody_holds_it():
    source = Source(KEY)
    source.take(BLOCK)
    before = source._buffer.ctypes.data
    for _ in range(5):
        source.take(BLOCK)
        assert source._buffer.ctypes.data == before


def test_two_system_sources_share_no_words():
    one, other = SystemSource(), SystemSource()
    assert not set(one.take(1000).tolist()) & set(other.take(1000).tolist())


def test_a_seed_repeats_its_words_and_another_seed_does_not():
    assert (SeededSource(7).take(99) == SeededSource(7).take(99)).all()
    assert (SeededSource(7).take(99) != SeededSource(-7).take(99)).all()


@pytest.mark.parametrize("seed", ["1", 1.0, True, None])
def test_a_seed_that_is_no_integer_is_refused(seed):
    with pytest.raises(ArgumentError, match="must be an integer"):
        SeededSource(seed)


def test_more_words_cannot_be_given_back_than_were_taken():
    source = Source(KEY)
    source.take(5)
    with pytest.raises(ValueError, match="given back"):
        source.give_back(6)


@pytest.mark.parametrize("source", [SystemSource(), SeededSource(1)], ids=repr)
@pytest.mark.parametrize("repeat", [copy.copy, copy.deepcopy, pickle.dumps], ids=lambda f: f.__name__)
def test_a_source_cannot_be_copied_or_pickled(source, repeat):
    with pytest.raises(TypeError, match="both copies would repeat"):
        repeat(source)


def test_a_source_serves_only_the_thread_that_made_it():
    source = SystemSource()
    said = []

    def use():
        try:
            source.take(1)
        except ArgumentError as error:
            said.append(str(error))

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert "belongs to the thread that made it" in said[0]


def in_child(work):
    """What `work` returns in a forked child, as text."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover (another process)
        try:
            said = work()
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(writer, said.encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    said = os.read(reader, 1 << 16).decode()
    os.close(reader)
    return said


needs_fork = pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")


@needs_fork
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_system_source_is_keyed_anew_after_a_fork():
    source = SystemSource()
    source.take(3)
    theirs = in_child(lambda: " ".join(map(str, source.take(100).tolist())))
    assert len(theirs.split()) == 100
    assert not {int(w) for w in theirs.split()} & set(source.take(BLOCK).tolist())


@needs_fork
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_seeded_source_refuses_to_go_on_after_a_fork():
    source = SeededSource(1)
    source.take(3)
    assert in_child(lambda: str(source.take(1))).startswith("ArgumentError: a seeded source was used after")


@pytest.mark.parametrize("n", [1, 2, 3, 583, 4096, 5000, LANES_16])
def test_belows_is_exactly_uniform_over_all_sixteen_bit_lanes(n):
    lanes = np.arange(1 << 16, dtype=np.uint64).reshape(-1, 4)
    words = (lanes << np.array([0, 16, 32, 48], dtype=np.uint64)).sum(axis=1, dtype=np.uint64)
    source = Listed(words)
    accepted = (1 << 16) // n * n
    seen = np.bincount(list(islice(source.belows(n), accepted)), minlength=n)
    assert (seen == accepted // n).all()


def test_belows_takes_two_lanes_from_a_word_for_larger_integers_and_refuses_the_few_that_would_favour():
    n = LANES_16 + 1
    assert (1 << 32) % n == 64  # a lane of zeros is refused, one of seven is not
    words = [(7 << 32) | (2**32 - 1), 0, 1 << 63]
    assert list(islice(Listed(words).belows(n), 3)) == [n - 1, 0, n // 2]


def test_below_refuses_exactly_the_words_that_would_favour_some_integers():
    n = 3 << 62
    # of 2^64 words, 2^64 mod n = 2^62 must be refused: those whose product's lower half is below it
    refused = [w for w in (0, 1, 2, 3) if (w * n) % 2**64 < 2**62]
    source = Listed([*refused, 2**64 - 1])
    assert source.below(n) == ((2**64 - 1) * n) >> 64
    assert source.used == len(refused) + 1


def test_a_uniform_fills_its_digits_however_small_it_is():
    assert Listed([2**64 - 1]).uniform() == 1.0
    assert Listed([0, 1, 1 << 63]).uniform() == (1.0 + 2.0**-1) * 2.0**-128
    tiny = Listed([1 << 11, (2**64 - 1) ^ ((1 << 12) - 1)]).uniform()
    assert 2.0**-53 <= tiny < 2.0**-52
    assert tiny != 2.0**-53


@pytest.mark.parametrize("name", ["below", "uniform", "categorical"])
def test_the_kernels_words_give_what_the_source_gives(name):
    from congenial.samplers import _words

    rng = np.random.default_rng(3)
    small = some_words(4000) >> rng.integers(0, 64, 4000, dtype=np.uint64)
    words = np.where(rng.random(4000) < 0.5, small, some_words(4000, 1))
    source, at = Listed(words), 0
    for _ in range(1000):
        if name == "below":
            n = 1 + (int(rng.integers(2**63)) >> int(rng.integers(0, 63)))
            value, at = _words.below(words, at, np.uint64(n))
            expected = source.below(n)
        elif name == "uniform":
            value, at = _words.uniform(words, at)
            expected = source.uniform()
        else:
            weights = np.exp(-0.3 * np.abs(np.arange(12) - 4.0)) * rng.random(12)
            value, at = _words.categorical(words, at, weights, np.empty(12))
            expected = source.categorical(weights)
        assert value == expected
        assert at == source.used
