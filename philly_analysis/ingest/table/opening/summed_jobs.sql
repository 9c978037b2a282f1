-- When was each job submitted, where the map gives the time since the row before?
-- One row per job: the submission time is then the sum of the intervals so far.
select * replace (
  if(
    getvariable('jobs_submitted_at').since_row_before
    and try_cast(submitted_at_said as double) is not null,
    sum(try_cast(submitted_at_said as double)) over (
      partition by source_file order by source_line
    )::varchar,
    submitted_at_said
  ) as submitted_at_said
)
from jobs_rows
