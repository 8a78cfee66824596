-- What the database's own media store holds, counted where objects are recorded, so that its limit holds for all processes together.
-- The limit is the setting appdb.media_limit of PostgreSQL, in bytes; unset: none. Locks appdb.media_objects while it is summed once.
--
-- An insert and a delete lock the row of the sum last, after their objects, and until they commit. SQLSTATE AM507: no room.
create table appdb.media_use (
  only_row boolean constraint "appdb.media_use.only_row" primary key default true check (only_row),
  objects bigint not null,
  bytes bigint not null
);
comment on table appdb.media_use is 'The sum of the objects of the store home in appdb.media_objects. Triggers write it.';

create function appdb.count_media() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $body$
declare
  sign constant int := case tg_op when 'INSERT' then 1 else -1 end;
  more bigint;
  more_bytes bigint;
  room bigint;
begin
  select count(*), coalesce(sum(bytes), 0) into more, more_bytes from changed where store = 'home';
  if more = 0 then
    return null;
  end if;
  if sign = 1 then
    room := nullif(current_setting('appdb.media_limit', true), '')::bigint - more_bytes;
  end if;
  update appdb.media_use set objects = objects + sign * more, bytes = bytes + sign * more_bytes
    where room is null or bytes <= room;
  if not found then
    raise exception 'The media store has no room for % bytes.', more_bytes using errcode = 'AM507';
  end if;
  return null;
end
$body$;

lock table appdb.media_objects in share row exclusive mode;
insert into appdb.media_use (objects, bytes)
  select count(*), coalesce(sum(bytes), 0) from appdb.media_objects where store = 'home';
create trigger "appdb.media_objects.recorded" after insert on appdb.media_objects
  referencing new table as changed for each statement execute function appdb.count_media();
create trigger "appdb.media_objects.deleted" after delete on appdb.media_objects
  referencing old table as changed for each statement execute function appdb.count_media();
