-- Writes a log of $jobs jobs as `sacct --parsable2` prints it to the file $out.
--
-- Each of 2,000 servers has 8 GPUs in four lanes of 1, 1, 2 and 4 GPUs. A lane runs its jobs one after
-- the other, so that placements never overlap.
-- Run times are log-normal: median exp(7) seconds. Waits are exponential: mean one hour.
set memory_limit = '4GB';
select setseed(0.001);

create table drawn as select
    i,
    i % 8000 as lane,
    [1, 1, 2, 4][(i % 4) + 1] as gpus,
    i % 8000 // 4 as server,
    least(864000, exp(7 + 1.9 * sqrt(-2 * ln(1 - random())) * cos(6.28 * random())))::bigint + 1 as run_s,
    (-3600 * ln(1 - random()))::bigint as wait_s,
    (-1800 * ln(1 - random()))::bigint as gap_s,
    random() as fate,
    (300 * random() * random())::int as person
from range($jobs) r(i);

create table placed as select
    *,
    timestamp '2021-01-01' + to_seconds(
        lane % 4000 + sum(run_s + gap_s) over (partition by lane order by i) - run_s
    ) as started_at
from drawn;

copy (
    select
        i + 1 as "JobIDRaw",
        i + 1 as "JobID",
        'user' || person as "User",
        'account' || person % 20 as "Account",
        'gpu' as "Partition",
        case when fate < 0.7 then 'COMPLETED' when fate < 0.85 then 'FAILED' else 'CANCELLED' end as "State",
        case when fate between 0.7 and 0.85 then '1:0' else '0:0' end as "ExitCode",
        strftime(started_at - to_seconds(wait_s), '%Y-%m-%dT%H:%M:%S') as "Submit",
        strftime(started_at - to_seconds(wait_s), '%Y-%m-%dT%H:%M:%S') as "Eligible",
        strftime(started_at, '%Y-%m-%dT%H:%M:%S') as "Start",
        strftime(started_at + to_seconds(run_s), '%Y-%m-%dT%H:%M:%S') as "End",
        format('cpu={},gres/gpu={},mem={}G,node=1', 4 * gpus, gpus, 32 * gpus) as "AllocTRES",
        format('cpu={},gres/gpu={},mem={}G,node=1', 4 * gpus, gpus, 32 * gpus) as "ReqTRES",
        'node' || server as "NodeList",
        1 as "NNodes",
        '10-00:00:00' as "Timelimit",
        'Priority' as "Reason"
    from placed
    order by started_at
) to '$out' (format csv, header true, delim '|', quote '');
