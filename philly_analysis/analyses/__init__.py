"""One finding per module: a question, the SQL of the same name that answers it, and a figure."""
