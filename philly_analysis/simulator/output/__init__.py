"""Write the outcome of a simulation as the tables of a trace, with a summary."""
