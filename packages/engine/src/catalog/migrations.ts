import { liveChanges } from "./live-sql.ts";

/**
 * The catalog's own schema, `appdb`, in numbered forward-only steps. Each runs in one transaction that inserts its
 * number first. `breaking`: older versions cannot use the result and fail with `catalog_too_new`.
 */
export interface CatalogMigration {
  readonly id: number;
  readonly breaking: boolean;
  readonly sql: string;
}

/** First key of the advisory lock between writers of pending cells and the runners that fill them. The second key is
 *  the table's id. */
export const PENDING_LOCK = 1_634_755_692;

export const MIGRATIONS: readonly CatalogMigration[] = [
  { id: 1, breaking: true, sql: firstCatalog() },
  { id: 2, breaking: false, sql: rememberRenames() },
  { id: 3, breaking: true, sql: jobsOfPeople() },
  { id: 4, breaking: false, sql: codeOfColumns() },
  { id: 5, breaking: false, sql: whatUpdatesChanged() },
  { id: 6, breaking: false, sql: answersOfRequests() },
  { id: 7, breaking: false, sql: liveChanges() },
  { id: 8, breaking: true, sql: indexesOfVectors() },
  { id: 9, breaking: false, sql: backgroundJobs() },
  { id: 10, breaking: true, sql: shorterAnswers() },
  { id: 11, breaking: false, sql: projectsOfTables() },
  { id: 12, breaking: false, sql: defaultsOfColumns() },
  { id: 13, breaking: false, sql: sumsInOrder() },
];

/** Tables, columns, indexes, functions and jobs of one database. Locks nothing that is in use. */
function firstCatalog(): string {
  return `
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
  -- Where the application's functions ran at the last update; whoever closes pending cells runs them there too.
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

-- No foreign keys: a job outlives what it worked on, so that whoever waits for it learns how it ended.
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
  -- Former definitions of altered columns, put back when their recompute fails: [{id, computed, nullable}].
  undo json not null default '[]',
  state text not null default 'queued' check (state in ('queued', 'running', 'done', 'failed')),
  incarnation uuid not null,
  runtime_id text,
  -- Identity of the last row that is done; the next run goes on behind it.
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
  perform pg_advisory_xact_lock_shared(${PENDING_LOCK}, (of_table % 2147483647)::int);
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
`;
}

/** The previous names in the last applied file. A rename, or a swap of two names, is done once. Locks two small
 *  catalog tables briefly. */
function rememberRenames(): string {
  return `
alter table appdb.tables add column renamed_from text;
alter table appdb.columns add column renamed_from text;
`;
}

/** Jobs on request: recomputes, the handling of failed cells, cancelling. Locks appdb.jobs briefly. An older runner
 *  would ignore cancellation and the permission to leave errors in cells. */
function jobsOfPeople(): string {
  return `
alter table appdb.jobs
  add column on_error text not null default 'abort' check (on_error in ('abort', 'ignore')),
  -- Only rows with an error in a cell of the job's columns.
  add column errors_only boolean not null default false,
  -- Cells that got an error so far.
  add column errors bigint not null default 0,
  add column is_cancelled boolean not null default false,
  -- Set when the job cannot be done and puts former values back (appdb."undo <id>"): what it will say then.
  add column undoing json,
  add column started_at timestamptz,
  drop constraint jobs_state_check,
  add constraint jobs_state_check check (state in ('queued', 'running', 'done', 'failed', 'cancelled'));
create index jobs_ended on appdb.jobs (ended_at) where ended_at is not null;
`;
}

/** The code of application functions behind a column's values. Locks a small catalog table briefly. */
function codeOfColumns(): string {
  return `
alter table appdb.columns add column code json;
`;
}

/** The changes of each update. A plan made before them is refused with this list (`catalog_moved`). Locks nothing. */
function whatUpdatesChanged(): string {
  return `
create table appdb.changes (
  id bigint generated always as identity primary key,
  version bigint not null,
  what text not null,
  made_at timestamptz not null default now()
);
create index changes_version on appdb.changes (version);
`;
}

/** Responses to requests with an idempotency key. Locks nothing. */
function answersOfRequests(): string {
  return `
create table appdb.requests (
  -- The first half of the sha256 of scope and key: short and of one size, because every such insert writes it twice.
  id uuid constraint "appdb.requests.id" primary key,
  -- Target, service, route and caller.
  scope text not null,
  key text not null,
  -- The same of what the request said; another one with its key is refused.
  digest uuid not null,
  status smallint not null,
  -- Null: those of JSON.
  headers json,
  body text not null,
  -- Values for the holes in the body, as PostgreSQL writes them; null: the body has none.
  made text[],
  expires_at timestamptz not null
);
-- Rows expire in about the order in which they were written, and are looked through once an hour.
create index requests_expiry on appdb.requests using brin (expires_at);
`;
}

/** Embedding indexes and the hidden columns with their vectors. Locks two small catalog tables briefly. An older
 *  version would treat such an index as a B-tree, and the column as no longer declared. */
function indexesOfVectors(): string {
  return `
alter table appdb.columns add column is_hidden boolean not null default false;
alter table appdb.indexes
  drop constraint indexes_kind_check,
  add constraint indexes_kind_check check (kind in ('btree', 'embedding')),
  -- {metric, precision, dimensions}
  add column embedding json,
  -- The hidden column that holds the vectors; null when the indexed column does.
  add column values_id bigint references appdb.columns on delete cascade,
  -- The index that answers until this one is built.
  add column replaces bigint references appdb.indexes on delete set null;
`;
}

/** Background requests with their results. Locks nothing. */
function backgroundJobs(): string {
  return `
create table appdb.background (
  id uuid primary key,
  seq bigint generated always as identity,
  folder text not null,
  service text not null,
  -- Method and path.
  route text not null,
  body text not null,
  search text not null,
  state text not null default 'queued' check (state in ('queued', 'running', 'done', 'failed', 'cancelled')),
  -- Jobs of another incarnation (a restored copy) wait for a person.
  incarnation uuid not null,
  owner text,
  lease_until timestamptz,
  -- Not begun before: pauses between attempts.
  not_before timestamptz not null default '-infinity',
  -- How often it failed, how often it may, and how often somebody has begun it.
  attempts int not null default 0,
  most_attempts int not null,
  leases int not null default 0,
  is_cancelled boolean not null default false,
  error json,
  result text,
  expires_s int not null,
  created_at timestamptz not null default now(),
  ended_at timestamptz,
  expires_at timestamptz
);
create index background_open on appdb.background (folder, service, seq) where state in ('queued', 'running');
create index background_expiry on appdb.background (expires_at) where expires_at is not null;
`;
}

/** Stored responses without unused parts, with placeholders stored next to them. Locks the responses briefly; those
 *  with placeholders of the old form are deleted. An older version would write dropped columns. */
function shorterAnswers(): string {
  return `
delete from appdb.requests where made is not null;
alter table appdb.requests drop column scope, drop column key;
comment on column appdb.requests.made is
  'Where values that SQL computes belong in the body, as JSON; behind it these values, as PostgreSQL writes them. Null: nowhere.';
`;
}

/** The project that last updated a table. Other projects can neither prune the table nor destroy its data. Locks a
 *  small catalog table briefly. */
function projectsOfTables(): string {
  return `
alter table appdb.tables add column project text;
`;
}

/** Defaults of stored columns. Locks the catalog's columns briefly. An older version leaves them to PostgreSQL,
 *  which has the same default. */
function defaultsOfColumns(): string {
  return `
alter table appdb.columns add column default_value json;
comment on column appdb.columns.default_value is '{"text", "expr"}, as in a manifest; null for none.';
`;
}

/** Disables parallel computation of a statement: the sum of Floats depends on their order. Locks nothing. */
function sumsInOrder(): string {
  return `
create function appdb.in_order(value double precision) returns double precision
language sql immutable parallel unsafe return value;
`;
}
