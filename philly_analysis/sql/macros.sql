-- Functions that every relation may call.

-- Values at the 0th, 1st, … 100th percentile, interpolated linearly.
create or replace macro percentiles(x) as
quantile_cont(x, list_transform(range(101), lambda p: p / 100.0));

-- True unless a job asks for something else than a machine says that it is.
create or replace macro fits(asked, offered) as
coalesce(asked = offered, true);

-- The same of pools, which nest: a machine of pool gpu/a100 is one of pool gpu.
create or replace macro fits_pool(asked, offered) as
coalesce(asked = offered or starts_with(offered, asked || '/'), true);

-- Seconds from one timestamp to another; negative when the second is earlier.
create or replace macro seconds_between(earlier, later) as
(epoch_us(later) - epoch_us(earlier)) / 1e6;

-- End of the minute that a moment lies in; a moment between two minutes ends the earlier one.
create or replace macro minute_end(moment) as
date_trunc('minute', moment + interval 59999999 microsecond);

-- Microseconds since 1970 up to which a reading of samples stands: those that say nothing of it
-- stand for a minute.
create or replace macro reading_until(sampled_at, seconds) as
epoch_us(sampled_at) + (coalesce(seconds, 60) * 1e6)::bigint;

-- Minutes that two stretches of time share, which meet; microseconds since 1970.
create or replace macro shared_min(from_us, until_us, other_from_us, other_until_us) as
(least(until_us, other_until_us) - greatest(from_us, other_from_us)) / 6e7;

-- Microseconds that a stopwatch shows: those before its last switch, and those since if it runs.
-- Moments are microseconds doubled (see machine_use); zero where there is no stopwatch.
create or replace macro reading(before_us, runs, switched, moment) as
coalesce(before_us + case when runs then moment // 2 - switched // 2 else 0 end, 0);

-- The next two give a table. They read a table expression of the caller's, by its name, so that
-- every table behind an answer stands in its own file, where the graph of relations sees it.

-- Utilisation that each whole percentage of minutes does not exceed, to within a point. `bins` has
-- the columns key, bin and minutes: bin k holds what is above k - 1 and up to k, bin 0 what is 0.
-- One row per (key, percentile from 0 to 100).
create or replace macro bin_percentiles(bins) as table
with cumulated as (
  select
    key,
    bin,
    sum(minutes) as minutes,
    sum(sum(minutes)) over (partition by key order by bin) as upto
  from query_table(bins)
  group by key, bin
),

grid as (
  select
    key,
    max(upto) as minutes,
    unnest(range(101)) as percentile
  from cumulated
  group by key
)

select
  grid.key,
  grid.percentile,
  case
    when c.bin = 0 then 0.0
    else c.bin - (c.upto - grid.percentile * grid.minutes / 100) / c.minutes
  end as util_pct
from grid
asof inner join cumulated as c
  on grid.key = c.key and grid.percentile * grid.minutes <= 100 * c.upto;

-- Change of utilisation around events, by the minutes at which the samples are taken to lag.
-- `readings` has the columns number (of the event), lag_min (from the event to the minute of the
-- sample), seconds and util_pct. A reading that stands for longer than a minute is that of each
-- minute up to its end; a minute with several has their mean. `events` has number, week and event.
-- One row per (week, event, offset_min) that any event has ten whole minutes for on either side.
create or replace macro clock_steps(readings, events) as table
with spread as (
  select
    number,
    lag_min,
    util_pct
  from query_table(readings)
  where util_pct is not null and coalesce(seconds, 60) <= 60
  union all by name
  select
    number,
    lag_min + unnest(range(ceil(seconds / 60)::bigint)) as lag_min,
    util_pct
  from query_table(readings)
  where util_pct is not null and seconds > 60
),

minutely as (
  select
    number,
    lag_min::smallint as lag_min,
    avg(util_pct) as util_pct
  from spread
  group by all
),

sums as (
  select
    number,
    lag_min,
    sum(util_pct) over (
      partition by number order by lag_min rows between unbounded preceding and current row
    ) as sum_pct
  from minutely
),

steps as (
  select
    number,
    lag_min::integer as offset_min,
    (
      (lead(sum_pct, 10) over minutes - sum_pct)
      - (lag(sum_pct, 1) over minutes - lag(sum_pct, 11) over minutes)
    ) / 10 as step_pct,
    -- a gap within the twenty minutes makes no step
    lead(lag_min, 10) over minutes - lag_min = 10 and lag_min - lag(lag_min, 11) over minutes = 11
      as whole
  from sums
  window minutes as (partition by number order by lag_min)
)

select
  e.week,
  e.event,
  steps.offset_min,
  count(*) as events,
  avg(steps.step_pct) as step_pct,
  stddev_samp(steps.step_pct) as sd_pct
from steps
inner join query_table(events) as e
  on steps.number = e.number
where steps.whole and abs(steps.offset_min) <= 720
group by all;
