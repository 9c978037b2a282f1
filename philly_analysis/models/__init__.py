"""Fitted numbers: what jobs arrive, how large, how long, whose, and how they end."""
