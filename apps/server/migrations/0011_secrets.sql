-- Secrets with envelope encryption: each value under the data key of its database or organization, each data key
-- under the master key, which is not in this database. New tables only, without locks on others.
create table control.data_keys (
  id uuid primary key default uuidv7(),
  org_id uuid not null references control.organizations (id) on delete cascade,
  -- null: the organization's
  database_id uuid references control.databases (id) on delete cascade,
  master_key_id text not null,
  wrapped bytea not null,
  created_at timestamptz not null default now(),
  unique nulls not distinct (org_id, database_id)
);

create table control.secrets (
  org_id uuid not null references control.organizations (id) on delete cascade,
  database_id uuid references control.databases (id) on delete cascade,
  name text not null,
  data_key_id uuid not null references control.data_keys (id) on delete cascade,
  sealed bytea not null,
  set_by text,
  updated_at timestamptz not null default now(),
  unique nulls not distinct (org_id, database_id, name)
);

-- The key pair that signs snapshots of keys. It always exists, so that a start can check its master key even without
-- any secrets.
create table control.signing_key (
  is_only boolean primary key default true check (is_only),
  public_key bytea not null,
  master_key_id text not null,
  wrapped bytea not null
);
