"""The state of a simulated cluster: allocations, placement, topology, GPU sharing."""
