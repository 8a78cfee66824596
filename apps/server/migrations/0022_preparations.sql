-- The result of preparing a deployment, before running pods change, and a deployment's last heartbeat. A new table,
-- and a column with a constant default, without long locks.
create table control.preparations (
  id uuid primary key default uuidv7(),
  org_id uuid not null references control.organizations (id) on delete cascade,
  database_id uuid not null references control.databases (id) on delete cascade,
  -- names no database, because it must not block the database's own operations
  operation_id uuid not null references control.operations (id) on delete cascade,
  app_file text not null,
  tree text not null,
  -- null for the base library alone
  environment text,
  -- the tree that it would run with
  resources jsonb not null,
  settings jsonb not null,
  -- the application's manifest, once the image has read it; json, not jsonb, keeps the order of members
  manifest json,
  created_at timestamptz not null default now()
);
create index preparations_database on control.preparations (database_id);
create index preparations_operation on control.preparations (operation_id);

alter table control.deploys add column alive_at timestamptz not null default now();
