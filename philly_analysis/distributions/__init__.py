"""Probability distributions: families, mixtures, fitting, goodness of fit."""

from philly_analysis.distributions.continuous import log_of
from philly_analysis.distributions.design_effect import correlation, worth
from philly_analysis.distributions.distribution import (
    EMPIRICAL,
    EMPIRICAL_PARAMETERS,
    OBSERVED_LEVELS,
    Distribution,
    Own,
    rounded,
)
from philly_analysis.distributions.exponential_tilting import tilted
from philly_analysis.distributions.families import FAMILIES
from philly_analysis.distributions.fitting import fit_distribution
from philly_analysis.distributions.frozen import Frozen, probabilities
from philly_analysis.distributions.lifetimes import Lifetimes
from philly_analysis.distributions.series import amplitude, with_spectrum
from philly_analysis.distributions.shrinkage import pooled, shifted
from philly_analysis.distributions.stratified import evenly, runs
