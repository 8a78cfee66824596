-- Reports commits to live queries: the triggers of watched tables call a function once for each statement. A message is
-- <id>;<part>;<parts>;<text>. The parts of one message make JSON: {"table": 7} when anything may have changed, else with `columns` and
-- the different `rows` of their values, from before and after the statement. Takes no lock.
--
-- The function never refuses a write. It runs as its owner, whatever the writer may do, and knows columns only as they are. Its numbers:
-- 2000 rows of one statement whose values are reported (of more only that the table changed), 64 bytes of a value (a longer one is
-- reported by its digest), 1900 characters in a part (a NOTIFY carries less than 8000 bytes, a character has at most 4), 40 parts.

-- Which services watch which tables, and the columns whose values decide which of their queries a change concerns.
create table appdb.live_watches (
  table_id bigint not null,
  owner uuid not null,
  columns text[] not null default '{}',
  until timestamptz not null,
  primary key (table_id, owner)
);

create function appdb.tell_live() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $body$
declare
  message text := format('{"table":%s}', tg_argv[0]);
  source text := case tg_op
    when 'INSERT' then 'new_rows' when 'DELETE' then 'old_rows'
    when 'UPDATE' then '(select * from old_rows union all select * from new_rows)' end;
  watched text[];
  wanted text;
  few boolean;
  parts int;
begin
  if source is not null then
    execute format('select count(*) between 1 and 2000, nullif(count(*), 0)::text from (select from %s as r limit 2001) as some_rows', source)
      into few, wanted;
    if wanted is null then
      return null;
    end if;
    select array_agg(a.attname::text order by a.attname),
      string_agg(format('case when octet_length(r.%1$I::text) > 64 then ''#'' || md5(r.%1$I::text) else ''='' || (r.%1$I::text) end', a.attname), ', ' order by a.attname)
    into watched, wanted
    from pg_attribute a
    where a.attrelid = tg_relid and a.attnum > 0 and not a.attisdropped and a.attname = any (
      select c from appdb.live_watches w, unnest(w.columns) c where w.table_id = tg_argv[0]::bigint);
    if few and watched is not null then
      execute format('select json_build_object(''table'', %s, ''columns'', $1, ''rows'', json_agg(v))::text
        from (select distinct array[%s] as v from %s as r) as different', tg_argv[0], wanted, source)
        into message using watched;
    end if;
    parts := (length(message) + 1899) / 1900;
    if parts > 40 then
      message := format('{"table":%s}', tg_argv[0]);
      parts := 1;
    end if;
  end if;
  parts := coalesce(parts, 1);
  if parts = 1 then
    perform pg_notify('appdb_live', ';1;1;' || message);
    return null;
  end if;
  -- Equal messages of one transaction are sent once: parts of two must not be taken for each other.
  wanted := gen_random_uuid()::text;
  for part in 1 .. parts loop
    perform pg_notify('appdb_live', format('%s;%s;%s;', wanted, part, parts) || substr(message, (part - 1) * 1900 + 1, 1900));
  end loop;
  return null;
end
$body$;
