-- What an operator's acts leave behind. New columns with constant defaults: short locks, no rewrite.
-- Since when requests of the organization are refused, and the reason that its members are told.
alter table control.organizations add column suspended_at timestamptz, add column suspended_for text;
-- Whether its suspension stopped the database: the end of the suspension starts it again.
alter table control.databases add column stopped_by_suspension boolean not null default false;
-- When a start that failed because of the machine is tried again without anybody asking.
alter table control.databases add column retry_at timestamptz;
alter table control.services add column retry_at timestamptz;
update control.databases set retry_at = now()
  where state = 'FAILED' and failure ->> 'code' in ('pods_one_organization', 'pods_unavailable', 'disk_full');
