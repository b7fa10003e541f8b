"""Samplers of a block whose facts cross: margins of a two-way table, intersecting groups, integer forms.

In comes an array of laws (`Unary`) and the forms that tie them together; out go integers drawn from
exactly the law of the laws given the forms, and a certificate. Nothing here runs a Markov chain.

name               law                                        exact?  cost of a draw           read
twisted columns    any laws, row and column sums fixed        yes     a few look-ups a cell    twisted.py
elimination        any laws, any integer forms                yes     one window a cell        elimination.py
"""
