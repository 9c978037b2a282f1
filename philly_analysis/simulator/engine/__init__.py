"""The event loop of a simulation: execution, event queue, outages, wait causes."""
