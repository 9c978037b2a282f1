"""The study's claims, tested on many traces."""

from philly_analysis.atlas.claim import FEWEST_ROWS, Verdict
from philly_analysis.atlas.datasets import known_datasets
from philly_analysis.atlas.drawing import COLORS
from philly_analysis.atlas.evaluation import Atlas, evaluate
from philly_analysis.atlas.resampling import FEWEST_BLOCKS, RESAMPLES
from philly_analysis.atlas.small_multiples import SYMBOLS, multiples, short_interval
