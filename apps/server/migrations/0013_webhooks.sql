-- Webhooks and their deliveries. New tables only, without locks on others.
create table control.webhooks (
  id uuid primary key default uuidv7(),
  org_id uuid not null references control.organizations (id) on delete cascade,
  url text not null,
  -- event actions; empty: all; 'key.*': all actions of keys
  actions text[] not null,
  data_key_id uuid not null references control.data_keys (id) on delete cascade,
  sealed_secret bytea not null,
  created_at timestamptz not null default now(),
  failing_since timestamptz
);
create index webhooks_org on control.webhooks (org_id);

create table control.deliveries (
  id uuid primary key default uuidv7(),
  webhook_id uuid not null references control.webhooks (id) on delete cascade,
  event_id bigint not null references control.events (id),
  state text not null default 'pending' check (state in ('pending', 'delivered', 'dead')),
  attempts integer not null default 0,
  last_status integer,
  last_error text,
  next_attempt_at timestamptz,
  -- when it is given up
  give_up_at timestamptz not null default now() + interval '3 days',
  created_at timestamptz not null default now(),
  unique (webhook_id, event_id)
);
create index deliveries_webhook on control.deliveries (webhook_id, id desc);
