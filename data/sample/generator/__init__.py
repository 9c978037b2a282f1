"""Generate the bundled sample: a synthetic archive in the layout of the Philly traces."""
