-- Since when a driver that isolates pods serves this control plane: another start must not fall back to plain processes. Version 0.8.0
-- does not know where storage of databases lies since then, and takes no database with a migration that it does not know.
-- A column that is null, of a table with one row.
alter table control.pods_home add column isolated_at timestamptz;
