-- Desired and observed state of databases, their images, files and pods. New columns with constant defaults and new
-- tables, without long locks.
alter table control.databases
  -- increases with each requested change; `observed_generation` follows when it was carried out
  add column generation integer not null default 1,
  add column observed_generation integer not null default 0,
  -- DesiredDatabase of src/database/desired.ts
  add column desired jsonb not null default '{
    "resources": {"cpu": 1, "memory_mb": 1024, "disk_gb": 10, "workers": 1}, "tree": null, "environment": null,
    "settings": {"sleep_after": "never", "wake_on_request": false, "vars": {}, "db_input_media_dest": null,
      "db_output_media_dest": null},
    "is_awake": true, "restarts": 0, "builds": 0}',
  -- the state with which the pod was started; null before the first start
  add column observed jsonb,
  add column failure jsonb,
  add column last_build jsonb,
  add column usage jsonb,
  add column awake_because text,
  add column last_used_at timestamptz,
  -- the bearer token of the pod's API
  add column data_key_id uuid references control.data_keys (id),
  add column sealed_pod_token bytea,
  add column purge_at timestamptz,
  add constraint databases_state check (state in
    ('PROVISIONING', 'UPDATING', 'AVAILABLE', 'STOPPING', 'STOPPED', 'STARTING', 'FAILED', 'DELETING')),
  add constraint databases_purge check ((purge_at is null) = (state <> 'DELETING'));

-- Pods in the state that the reconciler last saw.
create table control.pods (
  id text primary key,
  database_id uuid not null references control.databases (id) on delete cascade,
  kind text not null check (kind in ('database', 'service')),
  state text not null check (state in ('STARTING', 'READY', 'NOT_READY', 'STOPPED', 'FAILED')),
  restarts integer not null default 0,
  started_at timestamptz,
  reason text,
  memory_bytes bigint
);
create index pods_database on control.pods (database_id);

-- An environment of an organization, built once.
create table control.images (
  org_id uuid not null references control.organizations (id) on delete cascade,
  hash text not null,
  state text not null check (state in ('building', 'ready', 'failed')),
  -- the hashed document, for diffs
  environment jsonb not null,
  python text,
  packages jsonb,
  bytes bigint,
  built_at timestamptz,
  used_at timestamptz not null default now(),
  primary key (org_id, hash)
);

-- A list of project files. Its chunks are blobs of the organization.
create table control.trees (
  org_id uuid not null references control.organizations (id) on delete cascade,
  digest text not null,
  entries jsonb not null,
  files integer not null,
  bytes bigint not null,
  created_at timestamptz not null default now(),
  used_at timestamptz not null default now(),
  primary key (org_id, digest)
);

create table control.blobs (
  org_id uuid not null references control.organizations (id) on delete cascade,
  digest text not null,
  bytes integer not null,
  used_at timestamptz not null default now(),
  primary key (org_id, digest)
);

-- Output of operations, for example of builds.
create table control.operation_lines (
  operation_id uuid not null references control.operations (id) on delete cascade,
  number integer not null,
  at timestamptz not null default clock_timestamp(),
  level text not null check (level in ('debug', 'info', 'warn', 'error')),
  line text not null,
  primary key (operation_id, number)
);
create function control.operation_said() returns trigger language plpgsql as $$
begin
  perform pg_notify('control_lines', operation_id::text) from (select distinct operation_id from added) said;
  return null;
end $$;
create trigger operation_said after insert on control.operation_lines
  referencing new table as added for each statement execute function control.operation_said();

-- Notifies requests that wait for a change of a database's state.
create function control.database_changed() returns trigger language plpgsql as $$
begin
  perform pg_notify('control_databases', new.id::text);
  return null;
end $$;
create trigger database_changed after update of state, generation, observed_generation on control.databases
  for each row execute function control.database_changed();
