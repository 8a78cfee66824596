-- Services of databases, and their releases. New tables, nullable columns, and defaults that rewrite a table with few
-- rows, without long locks.
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
  -- the serving instance, or null
  observed jsonb,
  -- the last started instance; numbers are never reused
  instance int not null default 0,
  failure jsonb,
  failed_starts int not null default 0,
  -- it is being removed: its pods end, then its row is deleted
  is_pruned boolean not null default false,
  unique (database_id, name)
);
create index services_org on control.services (org_id);

-- Past and current releases of a service: added by `service update`, restored by a rollback.
create table control.releases (
  service_id uuid not null references control.services (id) on delete cascade,
  number int not null,
  tree text,
  environment text,
  app_file text not null,
  -- json, not jsonb: services describe themselves with members in their order
  manifest json not null,
  workers int not null,
  changes jsonb not null,
  created_at timestamptz not null default now(),
  created_by text not null,
  primary key (service_id, number)
);

alter table control.operations add column service_id uuid references control.services (id) on delete set null;
-- a service has one open operation of each kind, like a database
drop index control.operations_open;
create unique index operations_open on control.operations (database_id, kind)
  where state in ('pending', 'running') and service_id is null;
create unique index operations_open_of_services on control.operations (service_id, kind)
  where state in ('pending', 'running') and service_id is not null;

-- The gateway's address: a label below the server's domain, or a separate port without a domain.
alter table control.databases add column gateway_label text unique
  default 'd' || substr(replace(gen_random_uuid()::text, '-', ''), 1, 15);
alter table control.databases add column gateway_port int unique;

-- Notifies gateways of changed routes. The payload is the database's id.
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
