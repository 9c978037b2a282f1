select * from read_csv('{f}/secret.csv')
select * from read_text('{f}/secret.csv')
select * from read_blob('{f}/secret.csv')
select * from read_parquet('{f}/secret.parquet')
select * from read_parquet('{t}/../secret.parquet')
select * from read_parquet('{t}/derived/../../secret.parquet')
select * from read_parquet('{f}/*.parquet')
select * from parquet_metadata('{f}/secret.parquet')
select * from parquet_schema('{f}/secret.parquet')
select * from read_json('{f}/secret.csv')
select * from read_ndjson_objects('{f}/secret.csv')
select * from sniff_csv('{f}/secret.csv')
select * from '{f}/secret.parquet'
select * from '{f}/secret.csv'
select * from "{f}/secret.csv"
select * from glob('{f}/*')
select * from glob('/etc/*')
select getenv('HOME')
select * from query('select * from read_csv(''{f}/secret.csv'')')
select * from query_table('{f}/secret.csv')
select * from read_csv('https://example.invalid/x.csv')
select * from read_csv('/dev/stdin')
select * from read_text('/proc/self/environ')
select * from read_csv('/etc/passwd', header=false, columns={{'a':'varchar'}})
attach '{f}/x.duckdb' as x
copy jobs to '{f}/out.csv'
copy (select 1) to '{t}/out.csv'
export database '{f}/out'
install httpfs
load httpfs
set enable_external_access = true
reset enable_external_access
set allowed_directories = ['/']
set lock_configuration = false
set temp_directory = '{f}'
pragma database_list
pragma enable_profiling='json'
call pragma_database_list()
create table x as select 1
drop view jobs
insert into settings values ('x')
update settings set run_policy = 'x'
select 1; copy jobs to '{f}/out.csv'
with x as (select * from read_text('{f}/secret.csv')) select * from x
select (select content from read_text('{f}/secret.csv'))
select * from jobs where vc = (select content from read_text('{f}/secret.csv'))
from read_text('{f}/secret.csv')
describe select * from read_csv('{f}/secret.csv')
summarize select * from read_csv('{f}/secret.csv')
explain analyze select * from read_csv('{f}/secret.csv')
select * from duckdb_secrets()
select * from which_secret('s3://x', 's3')
select * from duckdb_settings()
select current_setting('temp_directory')
select * from read_duckdb('{f}/x.duckdb')
select * from json_execute_serialized_sql(json_serialize_sql('select * from read_text(''{f}/secret.csv'')'))
select write_log('x')
select * from duckdb_logs()
select * from parse_duckdb_log_message('x', 'y')
select * from repeat_row(1, num_rows = 3)
select * from test_all_types()
select * from file_row_number
select * from arrow_scan(1, 2, 3)
select * from pandas_scan(1)
select * from read_csv_auto(['{f}/secret.csv'])
select * from seq_scan('jobs')
select nextval('x')
