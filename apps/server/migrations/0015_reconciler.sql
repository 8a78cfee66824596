-- The home that contains the databases' pods, and the number of failed starts. A new table, a column with a constant
-- default and an index of a small table, without long locks.
create table control.pods_home (
  is_only boolean primary key default true check (is_only),
  home_id text not null,
  claimed_at timestamptz not null default now()
);

alter table control.databases
  -- consecutive failures since its pod last ran for long or someone requested a start
  add column failed_starts integer not null default 0;

-- the newest operation of a database
create index operations_database on control.operations (database_id, id desc);
