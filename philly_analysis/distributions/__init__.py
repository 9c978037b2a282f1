"""Probability distributions: families, mixtures, fitting, goodness of fit."""

from philly_analysis.distributions.arrays import Bools, Floats, Ints
from philly_analysis.distributions.confidence import mean_interval
from philly_analysis.distributions.design_effect import effective_size, intracluster_correlation
from philly_analysis.distributions.discrete import DiscreteDistribution
from philly_analysis.distributions.distribution import (
    EMPIRICAL,
    OBSERVED_LEVELS,
    Contribution,
    Distribution,
    Parameter,
    round_significant,
)
from philly_analysis.distributions.exponential_tilting import tilt
from philly_analysis.distributions.families import FAMILIES
from philly_analysis.distributions.fitted import FittedDistribution
from philly_analysis.distributions.fitting import fit_distribution
from philly_analysis.distributions.frozen import probabilities
from philly_analysis.distributions.lifetimes import Lifetimes
from philly_analysis.distributions.pooled import PooledDistribution
from philly_analysis.distributions.series import fourier_amplitudes, impose_autocorrelation
from philly_analysis.distributions.shrinkage import shift_scores, shrink
from philly_analysis.distributions.stratified import repeated_scores, stratified_uniforms
