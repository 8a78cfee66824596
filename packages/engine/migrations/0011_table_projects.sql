-- The project that last updated a table. Another project neither prunes the table nor destroys its data. Locks a small table for a
-- moment.
alter table appdb.tables add column project text;
