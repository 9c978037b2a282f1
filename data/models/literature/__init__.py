"""The shipped model of the generator that papers share."""
