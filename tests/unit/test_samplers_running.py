"""Running a kernel: interrupted after every possible word, it still draws what its twin draws."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from congenial.errors import MachineError
from congenial.randomness import SeededSource
from congenial.samplers import running
from congenial.samplers.base import Certificate, Filled
from support.words import Listed, some_words


class Heads:
    """Two numbers a draw: how many words of value 0 come before a 1, twice over."""

    width = 2
    certificate = Certificate("exact")

    def fill(self, words, out):
        at = used = 0
        for done, row in enumerate(out):
            for i in range(2):
                start = at
                while at < len(words) and words[at] == 0:
                    at += 1
                if at == len(words):
                    return Filled(done, used)
                row[i] = at - start
                at += 1
            used = at
        return Filled(len(out), used)


def afresh(prepared, source, out):
    """The planted fault: an unfinished draw begins again on fresh words."""
    done = 0
    while done < len(out):
        words = source.at_hand()
        done += prepared.fill(words, out[done:]).draws


def outcome(runner, bits, stops):
    out = np.full((1, 2), -1)
    runner(Heads(), Listed(bits, stops), out)
    return tuple(out[0].tolist())


LENGTH = 12
TAIL = [1, 1]  # so that every list of words ends


def law_when_stopped_at(runner, stop):
    """The law of a draw over all lists of fair bits, where the kernel first sees `stop` words."""
    law = {}
    for bits in product((0, 1), repeat=LENGTH):
        found = outcome(runner, [*bits, *TAIL, *TAIL], [stop] if stop else [])
        law[found] = law.get(found, 0) + Fraction(1, 2**LENGTH)
    return law


@pytest.mark.parametrize("stop", range(1, 9))
def test_a_kernel_interrupted_after_any_word_keeps_its_law(stop):
    law = law_when_stopped_at(running.run, stop)
    for a, b in product(range(4), repeat=2):
        assert law[a, b] == Fraction(1, 2 ** (a + b + 2))


@pytest.mark.parametrize("stop", range(2, 9))
def test_beginning_again_on_fresh_words_favours_short_draws_and_is_caught(stop):
    law = law_when_stopped_at(afresh, stop)
    # only a draw that fits before the stop can happen there; cut draws get a second chance to be short
    assert law[0, 0] > Fraction(1, 4)


@pytest.mark.parametrize("stops", [[], [1], [2, 3, 5], list(range(1, 60))])
def test_the_source_stands_where_the_last_draw_ended(stops):
    bits = some_words(64, 9) >> np.uint64(63)
    out = np.empty((9, 2), dtype=np.int64)
    source = Listed(bits, stops)
    running.run(Heads(), source, out)
    assert source.used == int((out + 1).sum())
    again = Listed(bits)
    whole = np.empty((9, 2), dtype=np.int64)
    running.run(Heads(), again, whole)
    assert (whole == out).all()


def test_progress_hears_of_every_draw_once():
    heard = []
    out = np.empty((9, 2), dtype=np.int64)
    bits = some_words(64, 9) >> np.uint64(63)
    running.run(Heads(), Listed(bits, [3, 9, 20]), out, heard.append)
    assert sum(heard) == 9
    assert len(heard) > 1


class Greedy:
    """One draw is the sum of many words: more than a source makes at once."""

    width = 1
    certificate = Certificate("exact")
    need = 100_000

    def __init__(self):
        self.calls = 0

    def fill(self, words, out):
        self.calls += 1
        done = 0
        for row in out:
            if (done + 1) * self.need > len(words):
                break
            row[0] = int(words[done * self.need : (done + 1) * self.need].sum() >> np.uint64(1))
            done += 1
        return Filled(done, done * self.need)


@pytest.mark.parametrize("hint", [1, 100_000])
def test_a_draw_may_need_more_words_than_are_made_at_once(hint):
    prepared = Greedy()
    prepared.words_hint = hint
    out = running.draw_rows(prepared, SeededSource(3), 4)
    words = SeededSource(3).take(4 * Greedy.need).reshape(4, -1)
    assert (out[:, 0] == (words.sum(axis=1) >> np.uint64(1)).astype(np.int64)).all()
    assert prepared.calls <= (12 if hint == 1 else 4)


def test_a_draw_that_never_ends_is_stopped(monkeypatch):
    monkeypatch.setattr(running, "_MOST_WORDS", 1 << 16)
    prepared = Greedy()
    prepared.need = 1 << 40
    with pytest.raises(MachineError, match="did not end"):
        running.draw_rows(prepared, SeededSource(3), 1)
