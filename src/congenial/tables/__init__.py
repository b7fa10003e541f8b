"""Tables: labelled integer counts over a complete, declared domain.

In come records or counts: a frame, a file, a database; out goes a `Table`, whose counts are
confidential, and whose domain, axes and queries are public. Nothing here knows of laws or noise.

file             what it holds
table.py         the table, its coarsenings, its frames
domain.py        axes, levels, cells: what a table could count
queries.py       coarsenings, as they are written and as partitions of the cells
long.py          counts as a long table, for whoever writes them
sources.py       the front door of files and databases; below it, in the order that data takes:
  formats.py     what kind of thing a source is, told from its first bytes
  dialects.py    how a text file is written; rewriting.py, where DuckDB should not read it itself
  connections.py a DuckDB of our own, and its errors in our words
  rows.py        the rows of a source or of a query over it, as text
  labels.py      the labels of an axis, from the request or a domain file
  columns.py     which columns an axis is read from, and which leaf a row belongs to
  units.py       that no unit makes up more rows than was said
  tallies.py     from rows to one count a cell
frames.py        the same from pandas, polars, pyarrow and DuckDB relations
inspection.py    a look at a source, for a first request
naming.py        how messages name labels, columns and rows; specs.py, what is asked of a request
"""
