"""Download public traces from their publishers."""
