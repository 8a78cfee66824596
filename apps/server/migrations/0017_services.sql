-- Services of databases, and their releases. New tables, and columns that are null or made by a default that rewrites a table of few
-- rows: no lock that anybody waits for.
create table control.services (
  id uuid primary key default uuidv7(),
  org_id uuid not null references control.organizations (id) on delete cascade,
  database_id uuid not null references control.databases (id) on delete cascade,
  -- within the database, with its folders
  name text not null,
  state text not null default 'DEPLOYING'
    check (state in ('DEPLOYING', 'STARTING', 'UPDATING', 'AVAILABLE', 'STOPPING', 'STOPPED', 'FAILED')),
  created_at timestamptz not null default now(),
  generation int not null default 1,
  observed_generation int not null default 0,
  desired jsonb not null,
  -- what serves; null while nothing does
  observed jsonb,
  -- the last one that was started; numbers are never used twice
  instance int not null default 0,
  failure jsonb,
  failed_starts int not null default 0,
  -- it is being forgotten: its pods end, then its row goes
  is_pruned boolean not null default false,
  unique (database_id, name)
);
create index services_org on control.services (org_id);

-- What a service ran or runs: moved by `service update` alone, gone back to by a rollback.
create table control.releases (
  service_id uuid not null references control.services (id) on delete cascade,
  number int not null,
  tree text,
  environment text,
  app_file text not null,
  -- json, not jsonb: members keep their order in what services say of themselves
  manifest json not null,
  workers int not null,
  changes jsonb not null,
  created_at timestamptz not null default now(),
  created_by text not null,
  primary key (service_id, number)
);

alter table control.operations add column service_id uuid references control.services (id) on delete set null;
-- a service is worked at by one operation of a kind, as a database is
drop index control.operations_open;
create unique index operations_open on control.operations (database_id, kind)
  where state in ('pending', 'running') and service_id is null;
create unique index operations_open_of_services on control.operations (service_id, kind)
  where state in ('pending', 'running') and service_id is not null;

-- Where the gateway serves it: by a label below the server's domain, or by a port of its own where there is no domain.
alter table control.databases add column gateway_label text unique
  default 'd' || substr(replace(gen_random_uuid()::text, '-', ''), 1, 15);
alter table control.databases add column gateway_port int unique;

-- Tells gateways of whatever changes where requests go; the payload is the database's id.
create function control.service_routes_changed() returns trigger language plpgsql as $$
begin
  perform pg_notify('control_service_routes', coalesce(new.database_id, old.database_id)::text);
  return null;
end $$;
create trigger service_routes_changed after insert or delete or update of state, generation, observed, is_pruned
  on control.services for each row execute function control.service_routes_changed();

create function control.database_routes_changed() returns trigger language plpgsql as $$
begin
  perform pg_notify('control_service_routes', new.id::text);
  return null;
end $$;
create trigger database_routes_changed after insert or update of state, gateway_port, gateway_label
  on control.databases for each row execute function control.database_routes_changed();
