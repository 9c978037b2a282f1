-- Writes the five files of an archive to the folder $out. $hard is true or false.
set memory_limit = '2GB';
set preserve_insertion_order = false;
select setseed(0.001);
create macro start() as timestamp '2017-10-03 07:00:00';
create macro stamp(t) as strftime(t, '%Y-%m-%d %H:%M:%S');

-- half of the machines have 8 GPUs, the others 2, which the samples record twice
copy (
    select
        'm' || i as "machineId",
        case when i % 2 = 0 then 8 else 2 end as " number of GPUs",
        case when i % 2 = 0 then ' 24GB' else ' 12GB' end as " single GPU mem"
    from range($machines) r(i)
) to '$out/cluster_machine_list' (format csv, header true, delim ',', quote '', escape '');

-- jobs with roughly the gang sizes and retries of the public trace; placements may overlap;
-- run times in seconds are log-normal: median about exp(7), mean 1.9 h (hard: 10 h)
create table jobs as select
    i,
    case
        when r < 0.866 then 1
        when r < 0.90 then 2
        when r < 0.938 then 4
        when r < 0.99 then 8
        when r < 0.998 then 16
        else 32
    end as gpus,
    1
    + (random() < 0.2)::int * case when $hard then (1 - 4 * ln(1 - random()))::int else 1 end
    + (random() < 0.1)::int as attempts,
    start() + to_seconds((i::double / $jobs * $minutes * 60)::bigint) as submitted_at,
    (random() * 14)::int as vc,
    (random() * 300)::int as u,
    floor(random() * ($machines // 2))::int as first,
    random() as s,
    least(
        30 * 86400,
        exp(
            7 + case when $hard then 2.65 else 1.9 end
            * sqrt(-2 * ln(1 - random())) * cos(6.28 * random())
        )
    ) as run_s
from (select i, random() as r from range($jobs) t(i));

copy (
    select
        case when s < 0.69 then 'Pass' when s < 0.82 then 'Killed' else 'Failed' end as status,
        format('vc{:02}', vc) as vc,
        format('application_1506638472019_{}', i) as jobid,
        list_transform(range(attempts), lambda k: {
            'start_time': stamp(submitted_at + to_seconds((120 + k * (run_s + 60))::bigint)),
            'end_time': stamp(submitted_at + to_seconds((120 + k * (run_s + 60) + run_s)::bigint)),
            'detail': list_transform(range((gpus + 7) // 8), lambda c: {
                'ip': 'm' || ((first + c) % ($machines // 2) * 2),
                'gpus': list_transform(
                    range(least(gpus, 8)),
                    lambda g: 'gpu' || ((g + case when gpus < 8 then i else 0 end) % 8)
                )
            })
        }) as attempts,
        stamp(submitted_at) as submitted_time,
        format('u{:04}', u) as user
    from jobs
) to '$out/cluster_job_log' (format json, array true);

-- one row per machine and minute in each file, ordered by time
create view readings as select
    *,
    random() as r0, random() as r1, random() as r2, random() as r3,
    random() as r4, random() as r5, random() as r6, random() as r7,
    stamp(t - case when pdt then interval 7 hour else interval 8 hour end)
    || case when pdt then ' PDT' else ' PST' end as time
from (
    select
        i % $machines as m,
        start() + to_minutes(i // $machines) as t,
        t < timestamp '2017-11-05 09:00:00' as pdt
    from range($minutes * $machines) r(i)
);

-- a hard archive lacks one row in 16, other ones in each file, and has some rows twice
create view recorded as
from readings where not $hard or random() > 0.06
union all
from readings where $hard and random() < 1e-5;

-- a row of a hard archive may be cut, or have other cells or two more
create macro line(time, m, r1, cells) as case
    when not $hard or random() > 1e-5 then concat_ws(',', time, 'm' || m, cells)
    when r1 < 0.3 then 'm' || m
    when r1 < 0.6 then concat_ws(',', time, 'm' || m, 'x', 'y', 'z')
    else concat_ws(',', time, 'm' || m, cells) || ',,'
end;

-- nearly a third of the readings are zero; some of the others have nine decimals
create macro percent(r) as case
    when $hard and r > 0.9995 then 'NA'
    when r < 0.32 then '0.0'
    when r < 0.4 then '100.0'
    when r < 0.7 then (r * 100)::decimal(12, 1)::varchar
    else (r * 100)::decimal(12, 9)::varchar
end;

copy (
    select line(
        time,
        m,
        r1,
        case
            when $hard and m % 200 = 0 then concat_ws(
                ',',
                percent(r0), percent(r0), percent(r1), percent(r1),
                percent(r2), percent(r2), percent(r3), percent(r3),
                percent(r4), percent(r4), percent(r5), percent(r5),
                percent(r6), percent(r6), percent(r7), percent(r7)
            ) || ','
            when m % 2 = 0 then concat_ws(
                ',',
                percent(r0), percent(r1), percent(r2), percent(r3),
                percent(r4), percent(r5), percent(r6), percent(r7)
            ) || ','
            else concat_ws(',', percent(r0), percent(r0), percent(r1), percent(r1)) || ',,,,,'
        end
    ) as "time,machineId,gpu0_util,gpu1_util,gpu2_util,gpu3_util,gpu4_util,gpu5_util,gpu6_util,gpu7_util"
    from recorded
) to '$out/cluster_gpu_util' (format csv, header true, quote '', escape '', delim e'\x01');

copy (
    select line(time, m, r1, (r0 * 100)::decimal(12, 9)::varchar) as "time,machine_id,cpu_util"
    from recorded
) to '$out/cluster_cpu_util' (format csv, header true, quote '', escape '', delim e'\x01');

copy (
    select line(time, m, r1, '528272752.0,' || (r0 * 528272752)::bigint || '.0')
        as "time,machine_id,mem_total,mem_free"
    from recorded
) to '$out/cluster_mem_util' (format csv, header true, quote '', escape '', delim e'\x01');
