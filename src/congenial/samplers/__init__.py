"""Samplers: draw noise from the law of a block.

In come laws, facts and limits of a few forms, and a source of words; out go integers and a certificate of
how exact they are. Nothing here knows of tables, requests, budgets or files.

name                  law                                 exact?  cost of a draw      read
independent           any law, cells alone                yes     cells               independent.py
composition           discrete Laplace, one fixed sum     yes     cells               composition.py
tree                  any law, nested forms, any limits   yes     cells               tree/sampler.py
quotient              any law, few free sums that cross   yes     a look-up           quotient.py
twisted columns       any law, two margins of an array    yes     cells               crossing/twisted.py
weighted elimination  any integer forms, any limits       yes     cells ÷ acceptance  crossing/elimination.py

Every sampler has a plain twin (`draw`) for reading and for proofs and a kernel (`fill`) that agrees with it
bit for bit on the same words; `running.py` feeds kernels. `published/` has the chains of the papers, for
study and comparison, never for a release.
"""
