-- Deployments of an application to a database, so that the last one can be undone as one. The last ten of a database are kept. A new table.
create table control.deploys (
  id uuid primary key default uuidv7(),
  org_id uuid not null references control.organizations (id) on delete cascade,
  database_id uuid not null references control.databases (id) on delete cascade,
  app_file text not null,
  state text not null default 'running' check (state in ('running', 'done', 'failed', 'rolling_back', 'rolled_back')),
  created_at timestamptz not null default now(),
  created_by text not null,
  ended_at timestamptz,
  -- files, image, size, settings and releases as they were
  before jsonb not null,
  -- the same when it had ended; null of one that was cut
  after jsonb
);
create index deploys_database on control.deploys (database_id, id desc);
