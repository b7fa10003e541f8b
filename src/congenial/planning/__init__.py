"""Planning: choose samplers, say what they cost, certify what they leave out.

In come a table (or a domain alone) and a request; out goes a `Plan`, which explains itself and draws.
`planner.py` is the way through, `drawing.py` gives every block its sampler.
"""

from congenial.planning.plan import Plan, PlannedBlock
from congenial.planning.planner import plan

__all__ = ["Plan", "PlannedBlock", "plan"]
