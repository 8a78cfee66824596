-- Objects of media stores that this database has written, so that what no row refers to can be deleted. Takes no lock.
create table appdb.media_objects (
  -- The store by its name in cells: home, or the address of a destination.
  store text not null,
  key text not null,
  bytes bigint not null,
  -- The last time that a file of this content was given. A row that refers to it follows soon.
  put_at timestamptz not null,
  -- The last time that a collection looked for rows that refer to it.
  checked_at timestamptz,
  constraint "appdb.media_objects.key" primary key (store, key)
);
comment on table appdb.media_objects is 'An object is recorded before it is written, and deleted while its row is locked.';
-- Signs the addresses of media in answers.
create table appdb.media_secret (
  only_row boolean constraint "appdb.media_secret.only_row" primary key default true check (only_row),
  secret bytea not null
);
