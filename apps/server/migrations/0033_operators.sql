-- The results of an operator's actions. New columns with constant defaults: short locks, no rewrite. When the
-- organization was suspended, and the reason that its members see.
alter table control.organizations add column suspended_at timestamptz, add column suspended_for text;
-- Whether the suspension stopped the database. The end of the suspension then starts it again.
alter table control.databases add column stopped_by_suspension boolean not null default false;
-- When a start that failed because of the machine is retried automatically.
alter table control.databases add column retry_at timestamptz;
alter table control.services add column retry_at timestamptz;
update control.databases set retry_at = now()
  where state = 'FAILED' and failure ->> 'code' in ('pods_one_organization', 'pods_unavailable', 'disk_full');
