-- The queue of the reconciler's jobs: one row per job, instead of graphile-worker's tables. New table, short locks.
-- breaking: a previous server adds its jobs to tables that no longer exist
create table control.jobs (
  -- jobs with one key are one row: a second request replaces the first, or runs after it
  key text primary key,
  id bigint not null generated always as identity,
  name text not null,
  payload jsonb not null,
  -- jobs of one lane run one after the other
  lane text not null,
  run_at timestamptz not null default now(),
  attempts integer not null default 0,
  -- the advisory lock of the process that runs it
  lease integer,
  -- set if it was requested while it runs: when it is due after that
  again_at timestamptz
);
create index jobs_due on control.jobs (name, run_at) where lease is null;
create unique index jobs_running on control.jobs (lane) where lease is not null;

-- preparations are the only jobs that no row of the control plane recreates
do $$
begin
  if to_regclass('graphile_worker._private_jobs') is not null then
    insert into control.jobs (key, name, payload, lane)
      select j.key, 'prepare-image', j.payload::jsonb, coalesce('builds of ' || p.org_id || ' 0', j.key)
        from graphile_worker._private_jobs j left join control.preparations p on j.key = 'prepare-image ' || p.id
        where j.key like 'prepare-image %'
      on conflict do nothing;
  end if;
end
$$;
drop schema if exists graphile_worker cascade;
