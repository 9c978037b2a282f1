"""The shipped parameters of the variation between periods."""
