-- Functions of the table source. A rule is what the map says of a field; said is the row's text,
-- null where it has none.

-- A word as the map translates it, which '' makes null; null also where the map lacks it.
create or replace macro meaning(said, rule) as
case
  when said is null or rule.words is null then said
  else nullif(if(map_contains(rule.words, said), rule.words[said], rule.otherwise), '')
end;

-- Why a word cannot be taken: the map should translate it and does not.
create or replace macro unknown_word(field, said, rule) as
if(
  said is not null and rule.words is not null and rule.otherwise is null
  and not map_contains(rule.words, said),
  field || ' is none of the words in the map', null
);

-- Why a text cannot be taken: it is not understood.
create or replace macro unread(field, said, meant, kind) as
if(said is not null and meant is null, field || ' is not a ' || kind, null);

-- The numbers in a text: itself, or those that a pattern finds; null for each that is none.
create or replace macro figures(said, pattern) as
try_cast(if(pattern is null, [said], regexp_extract_all(said, pattern, 1)) as double[]);

-- Their sum; null where one of them is none.
create or replace macro total(numbers, otherwise) as
case
  when len(numbers) = 0 then otherwise
  when len(list_filter(numbers, lambda n: n is null)) = 0 then list_sum(numbers)
end;

-- A number as the map bounds it, taken times another where it says so.
create or replace macro bounded(x, times, rule) as
case when isfinite(x) and abs(x) < 1e15
  then least(if(rule.round_up, ceil(x), x), coalesce(rule.at_most, 1e15))
    * if(rule.times, try_cast(times as double), 1)
end;

-- A number in the schema's unit; null where the text is none.
create or replace macro quantity(said, times, rule) as
bounded(
  if(said is null, null, total(figures(said, rule.pattern), rule.otherwise))
  * coalesce(rule.scale, 1) * coalesce(rule.unit, 1),
  times, rule
);

-- So many seconds as an interval; null where they are beyond any calendar.
create or replace macro seconds(s) as
case when abs(s) < 1e11 then to_microseconds(round(s * 1e6)::bigint) end;

-- The moment that a number counts up to, as the map's origin and unit have it. Where the
-- publisher misread UTC as the clock of a zone, that zone's clock gives UTC back.
create or replace macro counted(n, rule) as
if(
  rule.misread_as is null,
  coalesce(rule.origin, timestamp '1970-01-01') + seconds(n * rule.unit),
  timezone(
    rule.misread_as,
    timezone('UTC', coalesce(rule.origin, timestamp '1970-01-01') + seconds(n * rule.unit))
  )
);

-- The moment that a text names, in UTC: an offset in it goes before the map's zone. An hour that
-- a zone's clock repeats is taken for the later one.
create or replace macro clocked(said, rule) as
case
  when rule.format is null and (
    rule.zone is null or regexp_matches(said, ':[0-9.]+ *(Z|[+-][0-9]{2}:?[0-9]{0,2})$')
  ) then timezone('UTC', try_cast(said as timestamptz))
  else timezone('UTC', timezone(coalesce(rule.zone, 'UTC'), coalesce(
    try_strptime(said, rule.format), timezone('UTC', try_cast(said as timestamptz))
  )))
end;

-- A time in UTC; null where the text is none.
create or replace macro moment(said, rule) as
if(rule.unit is null, clocked(said, rule), counted(total(figures(said, null), null), rule));

-- What the map says of the columns of jobs, and of machines.
create or replace macro rules() as getvariable('map').jobs;
create or replace macro machine_rules() as getvariable('map').machines;
