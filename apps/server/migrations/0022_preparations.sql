-- What a deployment brings, built and read before anything that runs changes; and a deployment's last sign of life. A new table, and a
-- column whose default is the same for all rows: no lock that anybody waits for.
create table control.preparations (
  id uuid primary key default uuidv7(),
  org_id uuid not null references control.organizations (id) on delete cascade,
  database_id uuid not null references control.databases (id) on delete cascade,
  -- it names no database: what a database is worked at by is not looked for here
  operation_id uuid not null references control.operations (id) on delete cascade,
  app_file text not null,
  tree text not null,
  -- null for the base library alone
  environment text,
  -- what it would run with
  resources jsonb not null,
  settings jsonb not null,
  -- what the application file declares, once the image has read it; json, not jsonb: members keep their order
  manifest json,
  created_at timestamptz not null default now()
);
create index preparations_database on control.preparations (database_id);
create index preparations_operation on control.preparations (operation_id);

alter table control.deploys add column alive_at timestamptz not null default now();
