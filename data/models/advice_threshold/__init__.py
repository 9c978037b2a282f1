"""The shipped threshold up to which the replay of a log is accepted."""
