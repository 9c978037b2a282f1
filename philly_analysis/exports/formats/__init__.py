"""One module per file format of another tool."""
