-- The form of a job whose request had files. They are stored before the job is accepted. Locks a small table for a moment;
-- an older version of a service has no route with such jobs.
alter table appdb.background add column form text;
comment on column appdb.background.form is 'Fields and references to stored files, in place of a body; null for other requests.';
