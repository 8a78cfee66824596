-- The code that a job computes with, and when it began: updates and writers may change functions and rows before it ends.
-- Locks appdb.jobs for a moment.
alter table appdb.jobs add column code json, add column began xid8;
alter table appdb.jobs alter column began set default pg_current_xact_id();
comment on column appdb.jobs.code is 'Digests of the code of the functions that its columns call, by function id; null for jobs of earlier versions.';
comment on column appdb.jobs.began is 'The transaction that queued it; null for jobs of earlier versions.';
