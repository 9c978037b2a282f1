"""Models of how fast a job runs on the resources that it holds."""
