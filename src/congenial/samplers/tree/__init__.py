"""The tree sampler: nested queries, any law at any node, any limits, exactly.

In comes a forest (problems/forest.py); `growing.py` makes its tables with what they leave out,
`sampler.py` turns them into a list of splits and draws, `_*_kernels.py` do the work. Nothing here
knows of tables, requests or files.
"""
