"""The shipped models of clusters of Microsoft ITP."""
