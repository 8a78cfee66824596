-- What a stored column gets where a request does not name it. Locks a small table for a moment; an older version leaves it to
-- PostgreSQL, which has the same default.
alter table appdb.columns add column default_value json;
comment on column appdb.columns.default_value is '{"text", "expr"}, as in a manifest; null for none.';
