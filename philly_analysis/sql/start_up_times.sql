-- How long does a start take, where nothing else keeps a job waiting?
-- One row, of attempts that had room as they became eligible, while nothing waited before them.
--   usual_us  third quartile of the microseconds that attempts with room and nothing before them
--             waited, starts without a wait included; at most an hour; 0: fewer than ten attempts,
--             or no job ever waited for room, behind which others could start
with arrivals as (
  select
    pool,
    request,
    -- releases of the microsecond are counted, its starts are not
    2 * eligible_us as moment,
    until_us - eligible_us as wait_us
  from queue_order
  where outcome = 'started' and older_us is null
),

free_arrivals as (
  select a.*
  from arrivals as a
  asof inner join shortages as s
    on a.request = s.request and a.moment >= s.moment
  where not s.no_room
),

blockages as (
  select count(*) as n
  from waits_for_room
  where blocked
),

first_arrivals as (
  select a.wait_us
  from free_arrivals as a
  asof left join waits_for_room as b
    on a.pool = b.pool and a.moment >= b.moment
  where not coalesce(b.blocked, false)
)

select
  case
    when count(*) >= 10 and any_value(blockages.n) > 0
      then least(quantile_disc(wait_us, 0.75), 3600000000)
    else 0
  end as usual_us
from first_arrivals
cross join blockages
