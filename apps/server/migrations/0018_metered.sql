-- A database's usage over all of its pods. `metered` is the last report of its last pod: `{run, cpu_ms, awake_ms}`.
-- The next report of the same pod adds the difference. The defaults are constants: no row is rewritten.
alter table control.databases
  add column cpu_ms bigint not null default 0,
  add column awake_ms bigint not null default 0,
  add column metered jsonb;
