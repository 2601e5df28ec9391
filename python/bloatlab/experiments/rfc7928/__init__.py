"""The characterization guidelines for AQM (RFC 7928) as experiments: one class a scenario, one line here.

The less-than-best-effort sender (section 5.4) is left out: it needs LEDBAT, which the laboratory does not have.
"""

from bloatlab.experiments.base import Experiment
from bloatlab.experiments.rfc7928.friendly import Bulk, Ecn, InitialWindow
from bloatlab.experiments.rfc7928.round_trips import RttFairness, Rural
from bloatlab.experiments.rfc7928.stability import VaryingBandwidth, VaryingCongestion
from bloatlab.experiments.rfc7928.traffic import Bidirectional, Bursts, Mix
from bloatlab.experiments.rfc7928.unfriendly import Aggressive, Unresponsive

FAMILY: tuple[Experiment, ...] = (
    Bulk(),
    InitialWindow(),
    Ecn(),
    Aggressive(),
    Unresponsive(),
    RttFairness(),
    Rural(),
    Bursts(),
    Mix(),
    Bidirectional(),
    VaryingCongestion(),
    VaryingBandwidth(),
)

__all__ = ["FAMILY"]
