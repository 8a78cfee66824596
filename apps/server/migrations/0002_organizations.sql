-- Organizations, their members and invitations. New tables: locks nothing.
create table control.organizations (
  id uuid primary key default uuidv7(),
  name text not null unique check (name ~ '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$' and length(name) <= 29),
  display_name text not null,
  database_quota integer not null check (database_quota > 0),
  version integer not null default 1,
  created_at timestamptz not null default now()
);

create table control.members (
  id uuid primary key default uuidv7(),
  org_id uuid not null references control.organizations (id) on delete cascade,
  user_id text not null references identity.users (id) on delete cascade,
  role text not null check (role in ('owner', 'admin', 'member')),
  created_at timestamptz not null default now(),
  unique (org_id, user_id)
);
create index members_user on control.members (user_id);

create table control.invitations (
  id uuid primary key default uuidv7(),
  org_id uuid not null references control.organizations (id) on delete cascade,
  email text not null,
  role text not null check (role in ('owner', 'admin', 'member')),
  token_hash bytea not null unique,
  invited_by text references identity.users (id) on delete set null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  -- one open invitation per address: a new one replaces it
  unique (org_id, email)
);

-- The organization of a session. Valid while the person is a member.
create table control.session_orgs (
  session_id text primary key references identity.sessions (id) on delete cascade,
  org_id uuid not null references control.organizations (id) on delete cascade,
  at timestamptz not null default now()
);

create table control.databases (
  id uuid primary key default uuidv7(),
  org_id uuid not null references control.organizations (id) on delete cascade,
  name text not null,
  state text not null default 'PROVISIONING',
  created_at timestamptz not null default now(),
  unique (org_id, name)
);

-- Answers to requests with an Idempotency-Key, stored in the change's own transaction.
create table control.idempotency (
  principal text not null,
  route text not null,
  key text not null,
  request_hash bytea not null,
  status integer not null,
  -- encrypted if it contains a secret
  answer bytea not null,
  created_at timestamptz not null default now(),
  primary key (principal, route, key)
);
create index idempotency_created_at on control.idempotency (created_at);
