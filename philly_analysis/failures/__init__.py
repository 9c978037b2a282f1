"""Classify the output of failed attempts by reason, with an ordered table of signatures."""

from philly_analysis.failures.classifier import Failure, classify_text, classify_texts
from philly_analysis.failures.lines import decode
from philly_analysis.failures.masking import mask
from philly_analysis.failures.output import Output, classify, classify_outputs, read_output
from philly_analysis.failures.reasons import NO_SIGNATURE, REASONS, Reason, tiers_of
from philly_analysis.failures.signature import Signature, signatures
from philly_analysis.failures.suggest import last_lines
