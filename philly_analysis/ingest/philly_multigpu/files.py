"""Name the files of the extract of multi-GPU jobs."""

JOBS = "sampled_jobs.json.gz"
UTILISATION = ("gpu_util.csv.gz", "cpu_util.csv.gz", "cpu_util_pm60.csv.gz", "mem_util.csv.gz")
