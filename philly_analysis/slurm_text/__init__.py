"""Parse the text that Slurm's commands print: host lists, times, tables, records.

The columns of ``sacct`` are parsed in SQL, in ``ingest/slurm/macros.sql``.
"""

from philly_analysis.slurm_text.hosts import MOST_HOSTS, expand_hosts
from philly_analysis.slurm_text.limits import RUNNING_LIMITS, limit_amounts
from philly_analysis.slurm_text.records import record_fields, record_texts
from philly_analysis.slurm_text.tables import table_rows
from philly_analysis.slurm_text.times import duration_s, time_in_name
