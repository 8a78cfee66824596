-- Deployments of an application to a database, so that the last one can be undone as a whole. A database keeps the
-- last ten. A new table.
create table control.deploys (
  id uuid primary key default uuidv7(),
  org_id uuid not null references control.organizations (id) on delete cascade,
  database_id uuid not null references control.databases (id) on delete cascade,
  app_file text not null,
  state text not null default 'running' check (state in ('running', 'done', 'failed', 'rolling_back', 'rolled_back')),
  created_at timestamptz not null default now(),
  created_by text not null,
  ended_at timestamptz,
  -- files, image, size, settings and releases before it
  before jsonb not null,
  -- the same after it; null if it was interrupted
  after jsonb
);
create index deploys_database on control.deploys (database_id, id desc);
