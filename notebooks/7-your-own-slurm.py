# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Your own Slurm cluster
#
# You will see the one command to run on the cluster, what becomes of its output, and the report. To
# have something to show, this notebook turns jobs drawn from a model that ships into what `sacct`
# prints: **synthetic**, as all that it shows.

# %%
from pathlib import Path

from philly_analysis import analyze, ingest, load_model, report, simulate, slurm_command

print(slurm_command(since="2026-01-01"))

# %% [markdown]
# Run this on the login node, or let `cron` do it each night and `ingest(…, append=True)`. What it
# prints is a line per job and try, with everything that findings need.

# %%
drawn = simulate(
    load_model("philly").sample(3_000, gpus=128, offered=0.6, seed=7), "philly", gpus=128
)
sacct = drawn.sql("""
    with servers as (
        select
            job_id,
            attempt,
            count(*) as nodes,
            string_agg('gpu' || machine_id, ',' order by machine_id) as node_list
        from placed_servers
        group by job_id, attempt
    )

    select
        row_number() over (order by j.submitted_at) as "JobIDRaw",
        'cluster' as "Cluster",
        j.vc as "Partition",
        j.user as "User",
        case j.status
            when 'Pass' then 'COMPLETED'
            when 'Killed' then 'CANCELLED by 1000'
            else 'FAILED'
        end as "State",
        if(j.status = 'Failed', '1:0', '0:0') as "ExitCode",
        strftime(j.submitted_at, '%Y-%m-%dT%H:%M:%S') as "Submit",
        strftime(a.started_at, '%Y-%m-%dT%H:%M:%S') as "Start",
        strftime(a.ended_at, '%Y-%m-%dT%H:%M:%S') as "End",
        format('cpu={},gres/gpu={},node={}', 6 * j.gpus, j.gpus, s.nodes) as "AllocTRES",
        s.node_list as "NodeList"
    from jobs as j
    inner join attempts as a using (job_id)
    left join servers as s using (job_id, attempt)
""").df()
sacct.tail()

# %% [markdown]
# The servers are known from the jobs; that they have eight GPUs each, `scontrol show node -o` says.

# %%
logs = Path("my-cluster")
logs.mkdir(exist_ok=True)
sacct.to_csv(logs / "sacct.txt", sep="|", index=False)
(logs / "nodes.txt").write_text(
    "".join(
        f"NodeName=gpum{n} CPUTot=96 Gres=gpu:8 RealMemory=515000 State=IDLE\n" for n in range(16)
    )
)

# %% [markdown]
# ## Ingest: every line kept or rejected, and counted

# %%
trace = ingest("slurm", logs)
trace.describe()

# %% [markdown]
# ## Ask

# %%
analyze(trace, "why_waits")

# %%
analyze(trace, "wait_states")

# %%
analyze(trace, "gpus_in_use")

# %% [markdown]
# How busy the GPUs were is asked once their readings are there, too: `ingest(…,
# telemetry=folder)` takes what Prometheus, dcgm-exporter, nvidia-smi and dcgmi print. The whole
# page is one call, shown below; `.save("folder")` keeps it.

# %%
report(trace)
