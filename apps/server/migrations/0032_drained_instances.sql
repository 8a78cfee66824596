-- When a replaced instance of a service was asked to end. The job that asked has ended, and a later one checks the
-- instance. A new column without a default, without long locks.
alter table control.pods add column draining_since timestamptz;
