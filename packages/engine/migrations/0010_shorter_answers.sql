-- Answers without two columns that nothing reads, and with their holes in `made`. Locks the answers for a moment, and deletes those with
-- holes of the older form.
-- breaking: an older version writes columns that are gone
delete from appdb.requests where made is not null;
alter table appdb.requests drop column scope, drop column key;
comment on column appdb.requests.made is
  'Where values that SQL computes belong in the body, as JSON; behind it these values, as PostgreSQL writes them. Null: nowhere.';
