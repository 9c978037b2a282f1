-- Functions that every relation may call.

-- A number rounded down to three binary digits, such as 1.75, 7 or 28.
create or replace macro three_digits(x) as
case when x > 0 then floor(x * 4 / pow(2, floor(log2(x)))) / 4 * pow(2, floor(log2(x))) else x end;

-- True unless a free amount is known to be below the amount asked for, but for rounding.
create or replace macro suffices(free, asked) as
coalesce(free >= asked - 1e-6, true);

-- Name of a limit that the scheduler stated: the kind of limit, its owner, and the limited
-- resource.
create or replace macro limit_label(kind, account, qos, "user", resource) as
case kind
  when 'array' then 'array task limit'
  when 'licence' then 'licences'
  when 'request' then 'request exceeds a limit'
  else concat_ws(
    ', ',
    case kind
      when 'account' then concat_ws(' ', 'account', account)
      when 'qos' then concat_ws(' ', 'QOS', qos)
      else concat_ws(' ', 'user', "user")
    end,
    case resource
      when 'gpus' then 'GPUs'
      when 'cpus' then 'CPUs'
      when 'mem_gb' then 'memory'
      else resource
    end
  )
end;

-- Values at the 0th, 1st, … 100th percentile, interpolated linearly.
create or replace macro percentiles(x) as
quantile_cont(x, list_transform(range(101), lambda p: p / 100.0));

-- True unless a job asks for another property than a machine states.
create or replace macro fits(asked, offered) as
coalesce(asked = offered, true);

-- True unless a job asks for another pool than the machine's. Pools nest: a machine of pool
-- gpu/a100 is a machine of pool gpu.
create or replace macro fits_pool(asked, offered) as
coalesce(asked = offered or starts_with(offered, asked || '/'), true);

-- Sum of fractional numbers. Threads may add the numbers in any order: in units of 2 to the power
-- of -40, the sum is the same. Sums of integers and of whole seconds need no `total`.
create or replace macro total(x) as
sum((x * 1099511627776)::hugeint) / 1099511627776;

-- Seconds from one timestamp to another; negative when the second is earlier.
create or replace macro seconds_between(earlier, later) as
(epoch_us(later) - epoch_us(earlier)) / 1e6;

-- End of the minute that a moment lies in; a moment between two minutes ends the earlier one.
create or replace macro minute_end(moment) as
date_trunc('minute', moment + interval 59999999 microsecond);

-- Microseconds that a stopwatch shows: the count before its last switch, and the time since the
-- switch if the stopwatch runs. Moments are microseconds doubled (see machine_use); zero where
-- there is no stopwatch.
create or replace macro reading(before_us, runs, switched, moment) as
coalesce(before_us + case when runs then moment // 2 - switched // 2 else 0 end, 0);

-- GPUs of an attempt on a server, from the placements of the attempt on the server; null where a
-- placement has neither the index of a GPU nor a number of GPUs.
create or replace macro held_gpus(gpu, gpus) as
case when bool_and(gpu is not null or gpus is not null) then sum(coalesce(gpus, 1))::integer end;

-- The next macro gives a table. The macro reads a table expression of the caller by name. Every
-- table behind an answer thus stands in its own file, where the graph of relations sees the table.

-- Utilisation that each whole percentage of minutes does not exceed, to within a point. `bins` has
-- the columns key, bin and minutes: bin k holds what is above k - 1 and up to k, bin 0 what is 0.
-- One row per (key, percentile from 0 to 100).
create or replace macro bin_percentiles(bins) as table
with cumulated as (
  select
    key,
    bin,
    total(minutes) as minutes,
    sum(total(minutes)) over (partition by key order by bin) as upto
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
