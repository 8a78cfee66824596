-- Requests to services, counted by gateways per minute and kept for a day. A new table, without locks on others.
create table control.traffic (
  service_id uuid not null references control.services (id) on delete cascade,
  minute timestamptz not null,
  -- a run of a gateway, which replaces only its own counts of a minute
  writer text not null,
  -- {"POST /docs": {"client_errors": 0, "server_errors": 0, "latencies": [..]}}; "" has the paths above the maximum
  routes jsonb not null,
  primary key (service_id, minute, writer)
);
create index traffic_minute on control.traffic (minute);
