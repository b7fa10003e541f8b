"""Problems: a request compiled to law (1), around a centre, and cut into independent parts.

In come a domain, a request and counts; out go a `Structure` (public: forms, laws, facts, limits), a
`Problem` (the structure around its centre) and a `Layout` (a forest of nested forms, and the crossings
that join some of its roots). Nothing here draws, and only `problem.py` and what follows it see counts.
"""
