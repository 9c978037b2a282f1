# %% [markdown]
# # Your own Slurm cluster
#
# You will see the one command to run on the cluster, what becomes of its output, and the report.
# The jobs are **synthetic**: drawn from a model, and written as `sacct` prints them.

# %%
from pathlib import Path

from philly_analysis import analyze, ingest, report, sample, simulate, slurm_command

print(slurm_command(since="2026-01-01"))

# %%
work = sample("philly", jobs=3_000, gpus=128, seed=7).with_load(0.6, 128)
drawn = simulate(work, "philly", cluster=128, seed=7)
logs = Path("my-cluster")
logs.mkdir(exist_ok=True)
drawn.sql("""
    with servers as (
        select job_id, attempt, count(*) as nodes, string_agg('gpu' || machine_id, ',') as names
        from placed_servers group by all
    )
    select row_number() over (order by submitted_at) as "JobIDRaw", vc as "Partition",
        user as "User", strftime(submitted_at, '%Y-%m-%dT%X') as "Submit",
        strftime(started_at, '%Y-%m-%dT%X') as "Start", strftime(ended_at, '%Y-%m-%dT%X') as "End",
        map {'Pass': 'COMPLETED', 'Failed': 'FAILED', 'Killed': 'CANCELLED'}[status] as "State",
        format('gres/gpu={},node={}', jobs.gpus, nodes) as "AllocTRES", names as "NodeList"
    from jobs join attempts using (job_id) join servers using (job_id, attempt)
""").df().to_csv(logs / "sacct.txt", sep="|", index=False)

# %%
trace = ingest("slurm", logs)
trace.describe()

# %%
analyze(trace, "why_waits")

# %%
analyze(trace, "gpus_in_use")

# %% [markdown]
# `ingest(…, telemetry=folder)` adds how busy the GPUs were. The whole page is one call.

# %%
report(trace).save("my-cluster/report")
