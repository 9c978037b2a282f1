-- materialized
-- What do the reasons mean that the scheduler stated?
-- One row per different reason of an attempt or of a queue state.
--   reason    reason, in the scheduler's word
--   cause     cause that the reason means, as in wait_reasons; pending where no pattern fits
--   kind      kind of hold or limit that the reason means, as in wait_reasons; null: none
--   resource  resource that a limit is on: gpus, jobs, cpus, mem_gb or servers; null: another one
with words as (
  select wait_reason as reason
  from attempts
  union
  select reason
  from given_queue_states
),

matched as (
  select
    words.reason,
    coalesce(arg_min(r.cause, r.place), 'pending') as cause,
    arg_min(r.kind, r.place) as kind
  from words
  left join wait_reasons as r
    on regexp_full_match(words.reason, r.pattern)
  where words.reason is not null
  group by words.reason
)

select
  reason,
  cause,
  kind,
  case
    when cause <> 'limit' or kind in ('request', 'array', 'licence') then null
    when regexp_matches(reason, '(?i)minutes|submit|wall|billing') then null
    when reason ilike '%gres%' or reason ilike '%gpu%' then 'gpus'
    when reason ilike '%jobs%' then 'jobs'
    when reason ilike '%cpu%' then 'cpus'
    when reason ilike '%mem%' then 'mem_gb'
    when reason ilike '%node%' then 'servers'
  end as resource
from matched
