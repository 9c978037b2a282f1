-- Functions that every relation may call.

-- Values at the 0th, 1st, … 100th percentile, interpolated linearly.
create or replace macro percentiles(x) as
quantile_cont(x, list_transform(range(101), lambda p: p / 100.0));

-- Seconds from one timestamp to another; negative when the second is earlier.
create or replace macro seconds_between(earlier, later) as
(epoch_us(later) - epoch_us(earlier)) / 1e6;

-- Microseconds that a stopwatch shows: those before its last switch, and those since if it runs.
-- Moments are microseconds doubled (see machine_use); zero where there is no stopwatch.
create or replace macro reading(before_us, runs, switched, moment) as
coalesce(before_us + case when runs then moment // 2 - switched // 2 else 0 end, 0);

-- Value below which `target` of a histogram's observations lie, given the bin in which they run
-- out: bin k holds what is above k - 1 and up to k, bin 0 what is 0; `upto` counts to its end.
create or replace macro bin_quantile(bin, minutes, upto, target) as
case when bin = 0 then 0.0 else bin - (upto - target) / minutes end;
