"""FOR STUDY AND AS BASELINES, NEVER FOR A RELEASE: the Markov chains that three papers published.

In come facts or a hierarchy, laws and a seeded source; out come correlated draws whose law is only
approached, and estimates of how near they are. No planner offers them, the source that releases use is
refused, and every chain's certificate says `uncertified`.

name               paper                           law that it tends to                    read
StudySweep         Dharangutte et al., Alg. 1      exp(-ε‖z‖) on a lattice, ℓ1, ℓ2, ℓ2²    sweeps.py
coupled_step       Dharangutte et al., Alg. 2      (two of them, to see when they meet)    coupling.py
meetings           Dharangutte et al., Alg. 3      (a bound of the total variation)        meetings.py
StudyIndependence  Gong & Meng, Alg. 1             any laws, given facts and limits        independence.py
StudyHierarchy     Liu et al., Alg. 1 (M_MH)       any law at every node of a hierarchy    hierarchy.py

Every chain has the same shape: `init` makes a state, `step(source, state)` returns the next one and an info
to look at, and `walk` takes the same steps compiled. What a step costs and how many are needed:
docs/explanation/published-chains.md.
"""

from congenial.samplers.published.coupling import Pair, PairInfo, coupled_step, until_met
from congenial.samplers.published.deviates import StudyLaw
from congenial.samplers.published.diagnostics import effective_sample_size, potential_scale_reduction
from congenial.samplers.published.hierarchy import HierarchyInfo, HierarchyState, StudyHierarchy
from congenial.samplers.published.independence import (
    IndependenceInfo,
    IndependenceState,
    StudyIndependence,
)
from congenial.samplers.published.index_set import proposal_index_set
from congenial.samplers.published.jumps import Jumps
from congenial.samplers.published.lattices import Lattice
from congenial.samplers.published.limits import Limits
from congenial.samplers.published.meetings import Meetings, meeting_time, meetings
from congenial.samplers.published.real_laws import StudyGaussian, StudyLaplace
from congenial.samplers.published.sweeps import StudySweep, SweepInfo, SweepState
from congenial.samplers.published.targets import Target
from congenial.samplers.published.timing import ChainTime, chain_time_to, margins_chain

__all__ = [
    "ChainTime",
    "HierarchyInfo",
    "HierarchyState",
    "IndependenceInfo",
    "IndependenceState",
    "Jumps",
    "Lattice",
    "Limits",
    "Meetings",
    "Pair",
    "PairInfo",
    "StudyGaussian",
    "StudyHierarchy",
    "StudyIndependence",
    "StudyLaplace",
    "StudyLaw",
    "StudySweep",
    "SweepInfo",
    "SweepState",
    "Target",
    "chain_time_to",
    "coupled_step",
    "effective_sample_size",
    "margins_chain",
    "meeting_time",
    "meetings",
    "potential_scale_reduction",
    "proposal_index_set",
    "until_met",
]
