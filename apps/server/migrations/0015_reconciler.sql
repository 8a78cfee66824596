-- Which machine's home the databases' pods live in, and how often a pod failed to start. A new table, and a column with a
-- constant default: no lock that anybody waits for; the index is of a small table.
create table control.pods_home (
  is_only boolean primary key default true check (is_only),
  home_id text not null,
  claimed_at timestamptz not null default now()
);

alter table control.databases
  -- one after the other, since its pod last ran for long or somebody asked for a start
  add column failed_starts integer not null default 0;

-- the newest operation of a database
create index operations_database on control.operations (database_id, id desc);
