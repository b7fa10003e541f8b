"""Privacy: losses, guarantees, scales for a promise; rules of composition; the ledger.

In comes a structure (facts, bounds, laws, domain) and a unit; out goes a `Guarantee`, or the structure
whose laws meet a promise. Nothing here has seen a count: what is said follows from what is public, and
is the same for two tables that differ.

    guarantee.py    guarantee(structure, unit) -> Guarantee; find: what audit and promise need of it
    promise.py      scales(structure, unit, promise) -> the structure with resolved laws
    changes.py      what k units can change: nested facts, two crossing chains, margins, any others
                    (partitions, nested, twoway, margins, general, programs; units and pairs: one count)
    losses.py       the largest loss over all changes;  prices.py  what bounds add;  blocks.py  what is mixed
    conversions.py  ε, δ, ρ, posterior intervals;  gaussian.py  lattices;  attained.py  Theorem A.1
    gamma.py        Gong & Meng's γ;  classes.py  which tables are compared;  sentences.py  in words
    composition.py  what several releases lose together
    ledger/         what a dataset has spent

The page for readers is docs/explanation/what-is-promised.md.
"""
