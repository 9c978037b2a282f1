"""Distributions that know nothing of traces: families, mixtures, fitting, lifetimes."""
