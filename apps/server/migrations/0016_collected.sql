-- The trees of project files that the tables of a sleeping database need, according to its pod before the stop. Null
-- while it runs and if it was not asked. A new column without a default, without long locks.
alter table control.databases add column needed_trees jsonb;
