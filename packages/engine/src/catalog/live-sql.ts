/** NOTIFY channel of commits to watched tables. */
export const LIVE_CHANNEL = "appdb_live";

/** Maximum rows of one statement with individual values. Beyond it, the message only says that the table changed. */
const MAX_ROWS = 2_000;
/** Longer values are sent as digests. */
export const LONGEST_VALUE = 64;
/** A NOTIFY payload has less than 8,000 bytes, and a character at most four. */
const PART_CHARACTERS = 1_900;
const MAX_PARTS = 40;

/**
 * The function that notifies live queries of commits. Triggers of watched tables call it once per statement. A message
 * is `<id>;<part>;<parts>;<text>`. The joined parts are JSON: `{"table": 7}` when anything may have changed, else with
 * `columns` and the distinct `rows` of old and new values. It must never make a write fail: it runs as its owner,
 * whatever the writer's permissions, and reads the current columns.
 */
export function liveChanges(): string {
  return `
-- Which services watch which tables, and by the values of which columns they tell their queries apart.
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
    execute format('select count(*) between 1 and ${MAX_ROWS}, nullif(count(*), 0)::text from (select from %s as r limit ${MAX_ROWS + 1}) as some_rows', source)
      into few, wanted;
    if wanted is null then
      return null;
    end if;
    select array_agg(a.attname::text order by a.attname),
      string_agg(format('case when octet_length(r.%1$I::text) > ${LONGEST_VALUE} then ''#'' || md5(r.%1$I::text) else ''='' || (r.%1$I::text) end', a.attname), ', ' order by a.attname)
    into watched, wanted
    from pg_attribute a
    where a.attrelid = tg_relid and a.attnum > 0 and not a.attisdropped and a.attname = any (
      select c from appdb.live_watches w, unnest(w.columns) c where w.table_id = tg_argv[0]::bigint);
    if few and watched is not null then
      execute format('select json_build_object(''table'', %s, ''columns'', $1, ''rows'', json_agg(v))::text
        from (select distinct array[%s] as v from %s as r) as different', tg_argv[0], wanted, source)
        into message using watched;
    end if;
    parts := (length(message) + ${PART_CHARACTERS - 1}) / ${PART_CHARACTERS};
    if parts > ${MAX_PARTS} then
      message := format('{"table":%s}', tg_argv[0]);
      parts := 1;
    end if;
  end if;
  parts := coalesce(parts, 1);
  if parts = 1 then
    perform pg_notify('${LIVE_CHANNEL}', ';1;1;' || message);
    return null;
  end if;
  -- Equal messages of one transaction are sent once: parts of two must not be taken for each other.
  wanted := gen_random_uuid()::text;
  for part in 1 .. parts loop
    perform pg_notify('${LIVE_CHANNEL}', format('%s;%s;%s;', wanted, part, parts) || substr(message, (part - 1) * ${PART_CHARACTERS} + 1, ${PART_CHARACTERS}));
  end loop;
  return null;
end
$body$;
`;
}
