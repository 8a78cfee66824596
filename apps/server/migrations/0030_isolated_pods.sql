-- When a driver that isolates pods first served this control plane: later starts must not fall back to plain
-- processes. Version 0.8.0 does not know the new location of databases, and refuses a database with an unknown
-- migration. A nullable column of a table with one row.
alter table control.pods_home add column isolated_at timestamptz;
