-- Which devices have readings?
-- One row per device with utilisation.
select
  p.machine_id,
  p.gpu,
  any_value(series.uuid) as uuid,
  any_value(series.bus_id) as bus_id,
  any_value(series.model) as model,
  max(facts.mem_gb) as mem_gb,
  any_value(case when series.mig_instance is not null then series.gpu end)::integer as of_gpu,
  any_value(series.mig_instance) as mig_instance,
  any_value(series.mig_profile) as mig_profile,
  case any_value(p.util_measure)
    when 'util_pct' then 'utilisation'
    else 'engine activity'
  end as util_metric
from series_devices as p
inner join series using (series)
inner join facts using (series)
where p.gpu is not null and p.util_measure is not null
group by p.machine_id, p.gpu
