-- A failing webhook is retried as a whole after a pause, and is paused permanently after many failures. The defaults
-- are constants: no row is rewritten. The index covers waiting deliveries, which are few.
alter table control.webhooks
  -- consecutive failed attempts
  add column failures integer not null default 0,
  -- time of the last attempt: webhooks of an organization take turns
  add column tried_at timestamptz,
  -- after a failure nothing is posted before this time
  add column retry_at timestamptz,
  -- from this time nothing is posted until a person resumes it
  add column paused_at timestamptz;
create index deliveries_waiting on control.deliveries (webhook_id, next_attempt_at) where state = 'pending';
