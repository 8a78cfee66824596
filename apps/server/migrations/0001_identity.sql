-- Accounts of people. The columns are better-auth's, in our spelling; src/identity maps them.
create schema identity;

create table identity.users (
  id text primary key,
  name text not null,
  email text not null unique,
  email_verified boolean not null,
  image text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

create table identity.sessions (
  id text primary key,
  user_id text not null references identity.users (id) on delete cascade,
  token text not null unique,
  -- the client: 'cli' or 'browser'
  client text not null default 'browser',
  ip_address text,
  user_agent text,
  expires_at timestamptz not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index sessions_user on identity.sessions (user_id);

create table identity.accounts (
  id text primary key,
  user_id text not null references identity.users (id) on delete cascade,
  provider_id text not null,
  account_id text not null,
  password text,
  access_token text,
  refresh_token text,
  id_token text,
  access_token_expires_at timestamptz,
  refresh_token_expires_at timestamptz,
  scope text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (provider_id, account_id)
);
create index accounts_user on identity.accounts (user_id);

create table identity.verifications (
  id text primary key,
  identifier text not null,
  value text not null,
  expires_at timestamptz not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index verifications_identifier on identity.verifications (identifier);

create table identity.device_codes (
  id text primary key,
  device_code text not null unique,
  user_code text not null unique,
  user_id text references identity.users (id) on delete cascade,
  client_id text,
  scope text,
  status text not null,
  polling_interval integer,
  last_polled_at timestamptz,
  expires_at timestamptz not null,
  created_at timestamptz not null default now()
);

-- The origin of a device code, as the server saw it. Shown to the person who confirms it.
create table identity.device_requests (
  user_code text primary key references identity.device_codes (user_code) on delete cascade,
  ip_address text,
  user_agent text
);

-- Counts of attempts in a time window: one row per account or address, by its hash.
create table identity.attempts (
  kind text not null,
  subject bytea not null,
  count integer not null,
  since timestamptz not null default now(),
  primary key (kind, subject)
);
create index attempts_since on identity.attempts (since);

-- The hash of the one-time token that creates the first account. Exists while there is no account.
create table identity.first_account (
  is_only boolean primary key default true check (is_only),
  token_hash bytea not null,
  created_at timestamptz not null default now()
);
