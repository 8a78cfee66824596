-- Tables, columns, indexes, functions and jobs of one database. Takes no lock that another statement waits for.
-- breaking: no earlier version has a catalog
create extension if not exists vector schema appdb;

-- One row. The version counts schema changes; jobs of another incarnation (a restored copy) wait for a person.
create table appdb.state (
  only_row boolean primary key default true check (only_row),
  version bigint not null default 0,
  incarnation uuid not null default gen_random_uuid()
);
insert into appdb.state default values;

create table appdb.tables (
  id bigint generated always as identity primary key,
  folder text not null,
  name text not null,
  version bigint not null default 1,
  model text not null,
  comment text,
  custom_metadata json,
  primary_key text[] not null,
  has_default_idxs boolean not null,
  identity text not null,
  -- Where the application's functions ran at the last update; the job that closes pending cells runs them there too.
  runtime_id text,
  unique (folder, name)
);

create table appdb.columns (
  id bigint generated always as identity primary key,
  table_id bigint not null references appdb.tables on delete cascade,
  name text not null,
  type json not null,
  nullable boolean not null,
  primary_key boolean not null,
  computed json,
  state text not null check (state in ('ready', 'filling')),
  -- An expression was changed, but recomputing the stored values failed.
  stale boolean not null default false,
  comment text,
  custom_metadata json,
  unique (table_id, name)
);

create table appdb.indexes (
  id bigint generated always as identity primary key,
  table_id bigint not null references appdb.tables on delete cascade,
  kind text not null check (kind in ('btree')),
  name text,
  sql_name text not null,
  columns text[] not null,
  state text not null check (state in ('ready', 'building')),
  unique (table_id, sql_name)
);

create table appdb.functions (
  id text primary key,
  module text not null,
  name text not null,
  digest text not null
);

-- No foreign keys: a job outlives what it worked on, so that a caller that waits for it learns how it ended.
create table appdb.jobs (
  id uuid primary key default uuidv7(),
  seq bigint generated always as identity,
  kind text not null check (kind in ('fill', 'recompute', 'close_pending', 'build_index')),
  table_id bigint not null,
  column_ids bigint[] not null default '{}',
  index_id bigint,
  -- Names for people, good also when the column is gone.
  table_name text not null,
  column_names text[] not null default '{}',
  -- Previous definitions of altered columns, put back when their recompute fails: [{id, computed, nullable}].
  undo json not null default '[]',
  state text not null default 'queued' check (state in ('queued', 'running', 'done', 'failed')),
  incarnation uuid not null,
  runtime_id text,
  -- Identity of the last row that is done; the next run continues behind it.
  cursor uuid,
  rows_done bigint not null default 0,
  rows_total bigint,
  owner text,
  lease_until timestamptz,
  attempts int not null default 0,
  error json,
  created_at timestamptz not null default now(),
  ended_at timestamptz
);
create index jobs_open on appdb.jobs (seq) where state in ('queued', 'running');
create unique index jobs_pending on appdb.jobs (table_id) where kind = 'close_pending' and state = 'queued';

-- A writer that stores null with 'pending' in the cell's error calls this in the same statement. The shared lock makes a
-- runner wait, before it starts on the job, until this writer has committed: no such row is ever overlooked.
create function appdb.mark_pending(of_table bigint, of_columns bigint[]) returns boolean
language plpgsql volatile set search_path = pg_catalog as $body$
begin
  perform pg_advisory_xact_lock_shared(1634755692, (of_table % 2147483647)::int);
  if exists (
    select from appdb.jobs j
    where j.table_id = of_table and j.kind = 'close_pending' and j.state = 'queued' and j.column_ids @> of_columns
  ) then
    return true;
  end if;
  insert into appdb.jobs as j (kind, table_id, column_ids, table_name, incarnation, runtime_id)
  select 'close_pending', t.id, of_columns, t.name, s.incarnation, t.runtime_id
  from appdb.tables t, appdb.state s where t.id = of_table
  on conflict (table_id) where kind = 'close_pending' and state = 'queued'
  do update set column_ids = (
    select array_agg(distinct c order by c) from unnest(j.column_ids || excluded.column_ids) as c
  );
  perform pg_notify('appdb_jobs', '');
  return true;
end
$body$;

-- Whether a table has rows; asked for all tables in one statement.
create function appdb.has_rows(of_folder text, of_name text) returns boolean
language plpgsql stable set search_path = pg_catalog as $body$
declare
  answer boolean;
begin
  -- Somebody with psql may have dropped it; the catalog must stay readable then.
  if to_regclass(format('%I.%I', of_folder, of_name)) is null then
    return false;
  end if;
  execute format('select exists (select from %I.%I)', of_folder, of_name) into answer;
  return answer;
end
$body$;
