-- When was the job of each accounting record created, and when was the record written?
-- One row per line that was read as a record. A line without a creation time belongs to the last
-- job of its identifier that was created before the line was written. Lines carry local time; lines
-- of the same file that also carry a time in UTC show the difference.
with zones as (
  select
    *,
    900 * round((local_s - coalesce(ended_s, started_s, created_s)) / 900) as offset_s
  from accounting
  where fault is null
),

written as (
  select
    * exclude (offset_s),
    local_s - coalesce(
      last_value(offset_s ignore nulls) over earlier, first_value(offset_s ignore nulls) over later
    ) as written_s
  from zones
  window
    earlier as (
      partition by source_file
      order by source_line
      rows unbounded preceding
    ),
    later as (
      partition by source_file
      order by source_line
      rows between current row and unbounded following
    )
),

lives as (
  select distinct
    job,
    created_s as life_s
  from written
  where created_s is not null
)

select
  w.*,
  -- a queue record without a creation time may be written a moment before the job's own time
  coalesce(
    w.created_s, lives.life_s, case when w.event = 'queued' then w.written_s end
  ) as life_s
from written as w
asof left join lives
  on w.job = lives.job and coalesce(w.written_s, w.started_s, w.ended_s) + 60 >= lives.life_s
