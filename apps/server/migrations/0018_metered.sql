-- What a database has used over all of its pods. `metered` is what its last pod had said last: `{run, cpu_ms, awake_ms}`, by which the next
-- reading of the same pod adds what is new. The defaults are constants: no row is rewritten.
alter table control.databases
  add column cpu_ms bigint not null default 0,
  add column awake_ms bigint not null default 0,
  add column metered jsonb;
