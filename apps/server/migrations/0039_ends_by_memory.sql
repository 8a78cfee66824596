-- When a pod last ended because it needed too much memory, and the memory_mb that it had. People learn the reason also
-- after the pod runs again. New columns without a default, without long locks.
alter table control.pods add column memory_ended_at timestamptz, add column memory_ended_mb integer;
