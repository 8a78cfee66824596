-- The code that a job computes with: a later update may change the functions before it ends. Locks appdb.jobs for a moment.
alter table appdb.jobs add column code json;
comment on column appdb.jobs.code is 'Digests of the code of the functions that its columns call, by function id; null for jobs of earlier versions.';
