"""Read the output of failed attempts into the failures table."""
