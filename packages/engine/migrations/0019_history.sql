-- What changed in a table, for people, and folders, which stay without tables. Locks a small table for a moment.
alter table appdb.changes add column path text, add column change text, add column made_by text;
comment on column appdb.changes.path is 'The table or folder within the database; null for changes of earlier versions.';

create table appdb.folders (name text constraint "appdb.folders.name" primary key);
insert into appdb.folders select distinct folder from appdb.tables where folder <> 'public';
