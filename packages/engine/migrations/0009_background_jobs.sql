-- Requests that run in the background, each with its result. Takes no lock.
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
  -- Does not start before: the pause between attempts.
  not_before timestamptz not null default '-infinity',
  -- How often it failed, how often it may, and how often it was leased.
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
