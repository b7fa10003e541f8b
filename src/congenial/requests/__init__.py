"""Requests: what the curator asks for, in YAML, JSON or Python, as one model.

In come text or Python values; out goes a `Request`, or one error with all its faults. No source is
opened here and no count is known; `problems/compile.py` takes a request to the forms of a domain.

    model.py      the nouns: Request, Measurement, Invariant, Bound, Unit, Promise, …
    builders.py   measure, total, margin, nonnegative, at_least, …: the nouns as a person types them
    reading.py    read_request, read_text: all faults at once, each with path and line
    checks.py     what does not fit together;  values.py  the same for Python values
    rows.py       files of forms and of structural zeros
    schema.py     the published JSON Schema
    resolve.py    a request without defaults, and back; what of it may be published
    init.py       a first request for a file
"""
