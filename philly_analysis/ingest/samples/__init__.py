"""Read large sample tables in a stream, in hourly partitions."""
