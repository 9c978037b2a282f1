-- Functions of the table source. A rule is the map's rule of a field; text is the field of the row,
-- null where it is missing.

-- A text, or its part that the pattern of the map takes; null where the pattern does not fit.
create or replace macro taken(text, rule) as
if(rule.pattern is null, text, nullif(regexp_extract(text, rule.pattern, 1), ''));

-- A text as the map translates it; null for '' and for a word that the map lacks.
create or replace macro meaning(text, rule) as
case
  when text is null or rule.words is null then taken(text, rule)
  else nullif(
    if(
      map_contains(rule.words, taken(text, rule)), rule.words[taken(text, rule)], rule.otherwise
    ), ''
  )
end;

-- The fault of a word that the map should translate and does not.
create or replace macro unknown_word(field, text, rule) as
if(
  text is not null and rule.words is not null and rule.otherwise is null
  and not coalesce(map_contains(rule.words, taken(text, rule)), false),
  field || ' is none of the words in the map', null
);

-- The fault of a text that cannot be converted.
create or replace macro unread(field, text, value, kind) as
if(text is not null and value is null, field || ' is not a ' || kind, null);

-- The numbers in a text: the text, or the matches of a pattern; a match that is no number is null.
create or replace macro figures(text, pattern) as
try_cast(if(pattern is null, [text], regexp_extract_all(text, pattern, 1)) as double[]);

-- The sum of numbers; null where a number is null.
create or replace macro total(numbers, otherwise) as
case
  when len(numbers) = 0 then otherwise
  when len(list_filter(numbers, lambda n: n is null)) = 0 then list_sum(numbers)
end;

-- A number rounded and limited by the map.
create or replace macro bounded(x, rule) as
case when isfinite(x) and abs(x) < 1e15
  then least(if(rule.round_up, ceil(x), x), coalesce(rule.at_most, 1e15))
end;

-- A number in the schema's unit; null where the text is no number.
create or replace macro quantity(text, rule) as
bounded(
  if(text is null, null, total(figures(text, rule.pattern), rule.otherwise))
  * coalesce(rule.scale, 1) * coalesce(rule.unit, 1),
  rule
);

-- The factor of a quantity: another column of the row, if the map has one.
create or replace macro factor(text, rule) as
if(rule.times is null, 1, try_cast(text as double));

-- Seconds as an interval; null beyond any calendar.
create or replace macro seconds(s) as
case when abs(s) < 1e11 then to_microseconds(round(s * 1e6)::bigint) end;

-- The time of a number since the map's origin, in the map's unit. If the publisher misread UTC as
-- the local time of a zone, converting to that zone gives UTC.
create or replace macro counted(n, rule) as
if(
  rule.misread_as is null,
  coalesce(rule.origin, timestamp '1970-01-01') + seconds(n * rule.unit),
  timezone(
    rule.misread_as,
    timezone('UTC', coalesce(rule.origin, timestamp '1970-01-01') + seconds(n * rule.unit))
  )
);

-- The time of a text, in UTC. An offset in the text has priority over the map's zone. A repeated
-- hour of a zone is read as the later hour.
create or replace macro clocked(text, rule) as
case
  when rule.format is null and (
    rule.zone is null or regexp_matches(text, ':[0-9.]+ *(Z|[+-][0-9]{2}:?[0-9]{0,2})$')
  ) then timezone('UTC', try_cast(text as timestamptz))
  else timezone('UTC', timezone(coalesce(rule.zone, 'UTC'), coalesce(
    try_strptime(text, rule.format), timezone('UTC', try_cast(text as timestamptz))
  )))
end;

-- A time in UTC; null where the text is no time.
create or replace macro moment(text, rule) as
if(rule.unit is null, clocked(text, rule), counted(total(figures(text, null), null), rule));
