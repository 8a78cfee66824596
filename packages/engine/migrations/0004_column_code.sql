-- The code of the application's functions that computed a column's values. Locks a small table for a moment.
alter table appdb.columns add column code json;
