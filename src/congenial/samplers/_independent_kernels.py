"""Independent noise, compiled: one look-up a cell."""

# mypy: ignore-errors
# (numba gives these functions their types)

from numba import njit, uint64

from congenial.samplers._integer_table_kernels import pick_in

# columns of `Independent.plan`: one row a group
CELL, COUNT, TABLE, ENTRIES, GUIDE, SHIFT, OFFSET, BOUNDED = range(8)


@njit(cache=True)
def fill(words, out, plan, cells, high, low, guide, lower, upper):
    """Rows of `out` until they or the words run out: (draws, words that they used)."""
    used = 0
    for done in range(out.shape[0]):
        at = used
        row = out[done]
        for g in range(plan.shape[0]):
            group = plan[g]
            shift = uint64(group[SHIFT])
            for i in range(group[CELL], group[CELL] + group[COUNT]):
                while True:
                    z, at = pick_in(
                        words, at, high, low, guide, group[TABLE], group[ENTRIES], group[GUIDE], shift
                    )
                    if at > words.size:
                        return done, used
                    z += group[OFFSET]
                    if group[BOUNDED] == 0 or (lower[i] <= z <= upper[i]):
                        break
                row[cells[i]] = z
        used = at
    return out.shape[0], used
