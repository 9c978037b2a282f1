"""Failed output in, reason out: an ordered table of signatures and the reader that applies it."""

from philly_analysis.failures.classifier import Failure, Link, classify
from philly_analysis.failures.reasons import NO_SIGNATURE, REASONS, TIER_NAMES, Reason, tiers_of
from philly_analysis.failures.signature import Signature, signatures

__all__ = [
    "NO_SIGNATURE",
    "REASONS",
    "TIER_NAMES",
    "Failure",
    "Link",
    "Reason",
    "Signature",
    "classify",
    "signatures",
    "tiers_of",
]
