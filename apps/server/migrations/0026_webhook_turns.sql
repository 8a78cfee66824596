-- Webhooks that fail are tried as a whole after a pause, and are paused for good after many failures. The defaults are constants: no row
-- is rewritten. The index is of deliveries that wait, which are few.
alter table control.webhooks
  -- attempts that failed one after the other
  add column failures integer not null default 0,
  -- of the last attempt: webhooks of an organization take turns
  add column tried_at timestamptz,
  -- after a failure nothing is posted before
  add column retry_at timestamptz,
  -- since then nothing is posted, until a person resumes it
  add column paused_at timestamptz;
create index deliveries_waiting on control.deliveries (webhook_id, next_attempt_at) where state = 'pending';
