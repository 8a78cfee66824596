-- Operations (long work) and events (the audit log). New tables only, without locks on others.
create table control.operations (
  id uuid primary key default uuidv7(),
  org_id uuid not null references control.organizations (id) on delete cascade,
  database_id uuid references control.databases (id) on delete set null,
  kind text not null,
  target text not null,
  state text not null default 'pending' check (state in ('pending', 'running', 'succeeded', 'failed', 'cancelled')),
  is_cancellable boolean not null,
  actor text not null,
  -- the person who started it and may cancel it
  user_id text,
  detail text,
  error jsonb,
  created_at timestamptz not null default now(),
  started_at timestamptz,
  ended_at timestamptz,
  check ((ended_at is null) = (state in ('pending', 'running')))
);
create index operations_org on control.operations (org_id, id desc);
-- a database has one open operation of each kind
create unique index operations_open on control.operations (database_id, kind) where state in ('pending', 'running');

create function control.operation_changed() returns trigger language plpgsql as $$
begin
  perform pg_notify('control_operations', new.id::text);
  return null;
end $$;
create trigger operation_changed after update of state on control.operations
  for each row execute function control.operation_changed();

-- The audit log. No foreign keys: it outlives the rows that it describes.
create table control.events (
  id bigint primary key,
  at timestamptz not null,
  org_id uuid,
  action text not null,
  target text not null,
  actor text not null,
  user_id text,
  key_id text,
  ip_address text,
  client text,
  outcome text not null check (outcome in ('succeeded', 'refused', 'failed', 'pending')),
  operation_id uuid,
  detail jsonb not null
);
create index events_org on control.events (org_id, id desc);
create sequence control.event_ids owned by control.events.id;

-- Numbers an organization's events in commit order, so that a reader of one number has missed none below it and
-- streams can resume. The lock is held until the end of the transaction.
create function control.number_event() returns trigger language plpgsql as $$
begin
  if new.org_id is not null then
    perform pg_advisory_xact_lock(hashtextextended('control.events ' || new.org_id::text, 0));
  end if;
  new.id := nextval('control.event_ids');
  new.at := clock_timestamp();
  perform pg_notify('control_events', coalesce(new.org_id::text, ''));
  return new;
end $$;
create trigger number_event before insert on control.events for each row execute function control.number_event();

create function control.refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'control.events is append-only: % is refused', tg_op;
end $$;
create trigger events_stay before update or delete on control.events
  for each row execute function control.refuse_change();
create trigger events_stay_whole before truncate on control.events
  for each statement execute function control.refuse_change();
