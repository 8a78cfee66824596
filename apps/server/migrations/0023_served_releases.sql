-- When a release first served: a rollback needs a release that did. A nullable column, filled for the few kept
-- releases. Theirs is unknown, so they count as served.
alter table control.releases add column served_at timestamptz;
update control.releases set served_at = created_at;
