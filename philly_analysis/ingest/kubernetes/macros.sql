-- Functions of the Kubernetes source.

-- The moment of a number of seconds since 1970.
create or replace macro moment(s) as make_timestamp((s * 1e6)::bigint);
