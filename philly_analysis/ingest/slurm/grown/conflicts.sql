-- Which facts that an append adds are also about jobs that the append does not derive?
-- One row per fact.
select added.*
from added_context as added
where
  added.fact not in ('server', 'user', 'file')
  or (
    added.fact = 'user'
    and exists (
      select 1
      from stored_attempts as a
      where a.ended_by = added.name
    )
  )
  or (
    added.fact = 'file'
    and added.state = 'true'
    and added.name in (
      select name
      from context
      anti join added_context using (fact, name, state)
      where fact = 'file'
    )
  )
