-- API keys: of a person (acts_as) or with their own grants. Takes a short lock on control.members for its trigger.
-- The table has few rows, and servers of the previous version continue.
create table control.api_keys (
  -- the middle part of the key's text
  id text primary key check (id ~ '^[a-z0-9]{12}$'),
  org_id uuid not null references control.organizations (id) on delete cascade,
  name text not null check (length(name) between 1 and 63),
  -- SHA-256 of the whole text, which grants no access
  hash bytea not null check (length(hash) = 32),
  previous_hash bytea check (length(previous_hash) = 32),
  previous_until timestamptz,
  grants text[] not null,
  created_by text references identity.users (id) on delete set null,
  -- the person that a key without grants acts as; the key ends with the membership and does not return with a new one
  acts_as text,
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  expires_at timestamptz,
  unique (org_id, name),
  foreign key (org_id, acts_as) references control.members (org_id, user_id) on delete cascade,
  check ((acts_as is null) = (cardinality(grants) > 0)),
  check ((previous_hash is null) = (previous_until is null))
);
create index api_keys_acts_as on control.api_keys (org_id, acts_as) where acts_as is not null;

-- The version of an organization's keys, for snapshots. Each change increases it in its transaction, so a snapshot
-- with a greater version is newer, whenever it was read. No foreign key: it outlives the organization.
create table control.key_versions (
  org_id uuid primary key,
  version bigint not null
);

create function control.keys_changed() returns trigger language plpgsql as $$
declare
  changed uuid := coalesce(new.org_id, old.org_id);
begin
  insert into control.key_versions as v (org_id, version) values (changed, 1)
  on conflict (org_id) do update set version = v.version + 1;
  perform pg_notify('control_keys', changed::text);
  return null;
end $$;

-- not last_used_at: a use is not a change
create trigger keys_changed after insert or delete or update of hash, previous_hash, previous_until, grants, acts_as, expires_at
  on control.api_keys for each row execute function control.keys_changed();
-- a key without grants has the role of the person that it acts as
create trigger members_changed after update of role
  on control.members for each row execute function control.keys_changed();
