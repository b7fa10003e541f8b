"""What is taken to be alike is alike: classes of rows, leaves and nodes against plain dictionaries."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from congenial.problems.structure import FREE
from congenial.samplers.tree import _class_kernels as kernels

FAR = int(FREE)


def first_seen(keys):
    seen = {}
    return [seen.setdefault(key, len(seen)) for key in keys]


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.tuples(*[st.integers(-3, 3)] * 3), min_size=0, max_size=60),
    scale=st.sampled_from([1, 2**40, -(2**62) // 3]),
)
def test_rows_are_in_one_class_if_and_only_if_they_are_equal(rows, scale):
    keys = np.array(rows, dtype=np.int64).reshape(-1, 3) * scale
    label, first = kernels.distinct(keys)
    assert label.tolist() == first_seen(rows)
    assert [rows[i] for i in first] == list(dict.fromkeys(rows))


def test_floats_are_told_apart_by_every_bit():
    tilts = np.array([0.1, 0.1 + 1e-18, np.nextafter(0.1, 1), 0.0, 0.1])
    label, _ = kernels.distinct(tilts.view(np.int64).reshape(-1, 1))
    assert label.tolist() == [0, 0, 1, 2, 0]


def forest(rng, leaves, classes, traits, inner):
    """A random forest: parents, a class for each leaf, a trait for each inner node."""
    parent = [-2] * leaves
    tops = list(range(leaves))
    for _ in range(inner):
        if len(tops) < 2:
            break
        many = int(rng.integers(2, min(6, len(tops)) + 1))
        chosen = rng.choice(len(tops), many, replace=False)
        for i in chosen:
            parent[tops[i]] = len(parent)
        tops = [top for i, top in enumerate(tops) if i not in set(chosen.tolist())] + [len(parent)]
        parent.append(-2)
    trait = rng.integers(0, traits, len(parent))
    trait[:leaves] = -1
    return np.array(parent), rng.integers(0, classes, leaves), trait


@pytest.mark.parametrize(
    ("leaves", "classes", "traits"), [(8, 2, 1), (60, 3, 2), (3000, 60, 3), (4000, 700, 1)]
)
def test_nodes_are_alike_if_and_only_if_trait_and_children_are(leaves, classes, traits):
    rng = np.random.default_rng(leaves)
    for _ in range(20 if leaves < 100 else 1):
        parent, leaf_class, trait = forest(rng, leaves, classes, traits, leaves // 2)
        starts, children = kernels.children_of(parent)
        label, first = kernels.classify(starts, children, leaf_class, classes, trait)
        known, meaning = {}, []
        for v in range(len(parent)):
            if v < leaves:
                meaning.append(("leaf", int(leaf_class[v])))
                continue
            below = tuple(sorted(meaning[c] for c in np.flatnonzero(parent == v)))
            key = (int(trait[v]), tuple(sorted(known[m] if m in known else m[1] for m in below)))
            known.setdefault(("node", key), classes + len(known))
            meaning.append(("node", key))
            assert label[v] == known["node", key]
        assert label[:leaves].tolist() == leaf_class.tolist()
        assert label[first].tolist() == list(range(classes, classes + len(first)))
        bag_start, bag_class, bag_count = kernels.bags(starts, children, label, first)
        for k, v in enumerate(first.tolist()):
            part = slice(int(bag_start[k]), int(bag_start[k + 1]))
            below = np.sort(label[np.flatnonzero(parent == v)])
            assert np.repeat(bag_class[part], bag_count[part]).tolist() == below.tolist()
            assert (np.diff(bag_class[part]) > 0).all()


def test_heights_and_totals():
    parent = np.array([4, 4, 5, 6, 5, 6, -1])
    assert kernels.heights(parent).tolist() == [0, 0, 0, 0, 1, 2, 3]
    value = np.array([1.0, 2.0, 4.0, 8.0, 0, 0, 0])
    assert kernels.totals(parent, value).tolist() == [1, 2, 4, 8, 3, 7, 15]


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_ranges_leave_out_no_value_that_all_limits_allow(data):
    """Two leaves under a node and one beside it, under a root: every admissible value stays in range."""
    parent = np.array([3, 3, 4, 4, -1])
    sides = [data.draw(st.tuples(st.integers(-3, 0), st.integers(0, 3))) for _ in parent]
    lower = np.array([low if data.draw(st.booleans()) else -FAR for low, _ in sides])
    upper = np.array([high if data.draw(st.booleans()) else FAR for _, high in sides])
    low, high = kernels.ranges(parent, lower, upper, FAR)
    z = np.stack([axis.reshape(-1) for axis in np.meshgrid(*[np.arange(-7, 8)] * 3, indexing="ij")], axis=1)
    value = np.column_stack([z, z[:, 0] + z[:, 1], z.sum(axis=1)])
    kept = value[((value >= lower) & (value <= upper)).all(axis=1)]
    assert ((kept >= low) & (kept <= high)).all()
    # where every value is bounded the ranges of leaves are finite
    if (lower > -FAR).all() and (upper < FAR).all():
        assert (low > -FAR).all()
        assert (high < FAR).all()
