-- When a release first served: a service goes back to one that did, and not to one that never started. A column that is null, filled for
-- the few releases that are kept; of those nobody knows it, so they count as served.
alter table control.releases add column served_at timestamptz;
update control.releases set served_at = created_at;
