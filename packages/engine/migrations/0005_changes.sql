-- What each update changed: an update that was planned before it reports this (catalog_moved). Takes no lock.
create table appdb.changes (
  id bigint generated always as identity primary key,
  version bigint not null,
  what text not null,
  made_at timestamptz not null default now()
);
create index changes_version on appdb.changes (version);
