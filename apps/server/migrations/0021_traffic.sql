-- What came to services, counted by gateways by the minute and kept for a day. A new table: no lock that anybody waits for.
create table control.traffic (
  service_id uuid not null references control.services (id) on delete cascade,
  minute timestamptz not null,
  -- a run of a gateway: each replaces what it wrote of a minute itself, and nothing else
  writer text not null,
  -- {"POST /docs": {"client_errors": 0, "server_errors": 0, "latencies": [..]}}; "" holds what has too many paths
  routes jsonb not null,
  primary key (service_id, minute, writer)
);
create index traffic_minute on control.traffic (minute);
