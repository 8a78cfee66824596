-- Which trees of project files the tables of a database that is asleep need: its pod said so before it was stopped. Null while it
-- runs, and where it was not asked. A new column without a default: no lock that anybody waits for.
alter table control.databases add column needed_trees jsonb;
