"""Tables: labelled integer counts over a complete, declared domain.

In come records or counts: a frame, a file, a database; out goes a `Table`, whose counts are
confidential, and whose domain, axes and queries are public. Nothing here knows of laws or noise.

file          what it holds
domain.py     axes, levels, cells: what a table could count
queries.py    coarsenings, as they are written and as partitions of the cells
"""
