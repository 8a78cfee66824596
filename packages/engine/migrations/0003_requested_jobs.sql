-- Jobs that a person requests: recomputes, how they treat cells that fail, and cancelling. Locks appdb.jobs for a moment.
-- breaking: an older runner does not know that a job was cancelled, or that a job may leave errors in cells
alter table appdb.jobs
  add column on_error text not null default 'abort' check (on_error in ('abort', 'ignore')),
  -- Only rows with an error in a cell of the job's columns.
  add column errors_only boolean not null default false,
  -- Cells that got an error so far.
  add column errors bigint not null default 0,
  add column is_cancelled boolean not null default false,
  -- Set when the job cannot be done and puts previous values back (appdb."undo <id>"): the error that it reports then.
  add column undoing json,
  add column started_at timestamptz,
  drop constraint jobs_state_check,
  add constraint jobs_state_check check (state in ('queued', 'running', 'done', 'failed', 'cancelled'));
create index jobs_ended on appdb.jobs (ended_at) where ended_at is not null;
