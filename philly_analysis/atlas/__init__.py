"""The study's claims, tested on many clusters."""

from philly_analysis.atlas.aggregates import from_aggregates
from philly_analysis.atlas.claim import FEWEST_ROWS, Evidence, Finding, Verdict
from philly_analysis.atlas.datasets import Dataset, known_datasets
from philly_analysis.atlas.drawing import COLORS
from philly_analysis.atlas.evaluation import Atlas, evaluate, in_brief
from philly_analysis.atlas.profile import missing_data
from philly_analysis.atlas.public_clusters import shipped_answers
from philly_analysis.atlas.resampling import FEWEST_BLOCKS, RESAMPLES
from philly_analysis.atlas.small_multiples import SYMBOLS, by_answers, multiples
