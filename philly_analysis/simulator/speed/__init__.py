"""Models of the speed of a job on the resources that the job holds."""
