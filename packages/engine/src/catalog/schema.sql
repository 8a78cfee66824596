CREATE SCHEMA appdb;

CREATE FUNCTION appdb.count_media() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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
$$;

CREATE FUNCTION appdb.has_rows(of_folder text, of_name text) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog'
    AS $$
declare
  answer boolean;
begin
  -- Somebody with psql may have dropped it; the catalog must stay readable then.
  if to_regclass(format('%I.%I', of_folder, of_name)) is null then
    return false;
  end if;
  execute format('select exists (select from %I.%I)', of_folder, of_name) into answer;
  return answer;
end
$$;

CREATE FUNCTION appdb.in_order(value double precision) RETURNS double precision
    LANGUAGE sql IMMUTABLE
    RETURN value;

CREATE FUNCTION appdb.mark_pending(of_table bigint, of_columns bigint[]) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog'
    AS $$
begin
  perform pg_advisory_xact_lock_shared(1634755692, (of_table % 2147483647)::int);
  if exists (
    select from appdb.jobs j
    where j.table_id = of_table and j.kind = 'close_pending' and j.state = 'queued' and j.column_ids @> of_columns
  ) then
    return true;
  end if;
  insert into appdb.jobs as j (kind, table_id, column_ids, table_name, incarnation, runtime_id)
  select 'close_pending', t.id, of_columns, t.name, s.incarnation, t.runtime_id
  from appdb.tables t, appdb.state s where t.id = of_table
  on conflict (table_id) where kind = 'close_pending' and state = 'queued'
  do update set column_ids = (
    select array_agg(distinct c order by c) from unnest(j.column_ids || excluded.column_ids) as c
  );
  perform pg_notify('appdb_jobs', '');
  return true;
end
$$;

CREATE FUNCTION appdb.tell_live() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
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
$_$;

CREATE TABLE appdb.background (
    id uuid NOT NULL,
    seq bigint NOT NULL,
    folder text NOT NULL,
    service text NOT NULL,
    route text NOT NULL,
    body text NOT NULL,
    search text NOT NULL,
    state text DEFAULT 'queued'::text NOT NULL,
    incarnation uuid NOT NULL,
    owner text,
    lease_until timestamp with time zone,
    not_before timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    most_attempts integer NOT NULL,
    leases integer DEFAULT 0 NOT NULL,
    is_cancelled boolean DEFAULT false NOT NULL,
    error json,
    result text,
    expires_s integer NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    ended_at timestamp with time zone,
    expires_at timestamp with time zone,
    form text,
    CONSTRAINT background_state_check CHECK ((state = ANY (ARRAY['queued'::text, 'running'::text, 'done'::text, 'failed'::text, 'cancelled'::text])))
);

COMMENT ON COLUMN appdb.background.form IS 'Fields and references to stored files, in place of a body; null for other requests.';

ALTER TABLE appdb.background ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME appdb.background_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE appdb.changes (
    id bigint NOT NULL,
    version bigint NOT NULL,
    what text NOT NULL,
    made_at timestamp with time zone DEFAULT now() NOT NULL,
    path text,
    change text,
    made_by text
);

COMMENT ON COLUMN appdb.changes.path IS 'The table or folder within the database; null for changes of earlier versions.';

ALTER TABLE appdb.changes ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME appdb.changes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE appdb.columns (
    id bigint NOT NULL,
    table_id bigint NOT NULL,
    name text NOT NULL,
    type json NOT NULL,
    nullable boolean NOT NULL,
    primary_key boolean NOT NULL,
    computed json,
    state text NOT NULL,
    stale boolean DEFAULT false NOT NULL,
    comment text,
    custom_metadata json,
    renamed_from text,
    code json,
    is_hidden boolean DEFAULT false NOT NULL,
    default_value json,
    CONSTRAINT columns_state_check CHECK ((state = ANY (ARRAY['ready'::text, 'filling'::text])))
);

COMMENT ON COLUMN appdb.columns.default_value IS '{"text", "expr"}, as in a manifest; null for none.';

ALTER TABLE appdb.columns ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME appdb.columns_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE appdb.folders (
    name text NOT NULL
);

CREATE TABLE appdb.functions (
    id text NOT NULL,
    module text NOT NULL,
    name text NOT NULL,
    digest text NOT NULL
);

CREATE TABLE appdb.indexes (
    id bigint NOT NULL,
    table_id bigint NOT NULL,
    kind text NOT NULL,
    name text,
    sql_name text NOT NULL,
    columns text[] NOT NULL,
    state text NOT NULL,
    embedding json,
    values_id bigint,
    replaces bigint,
    CONSTRAINT indexes_kind_check CHECK ((kind = ANY (ARRAY['btree'::text, 'embedding'::text]))),
    CONSTRAINT indexes_state_check CHECK ((state = ANY (ARRAY['ready'::text, 'building'::text])))
);

ALTER TABLE appdb.indexes ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME appdb.indexes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE appdb.jobs (
    id uuid DEFAULT uuidv7() NOT NULL,
    seq bigint NOT NULL,
    kind text NOT NULL,
    table_id bigint NOT NULL,
    column_ids bigint[] DEFAULT '{}'::bigint[] NOT NULL,
    index_id bigint,
    table_name text NOT NULL,
    column_names text[] DEFAULT '{}'::text[] NOT NULL,
    undo json DEFAULT '[]'::json NOT NULL,
    state text DEFAULT 'queued'::text NOT NULL,
    incarnation uuid NOT NULL,
    runtime_id text,
    cursor uuid,
    rows_done bigint DEFAULT 0 NOT NULL,
    rows_total bigint,
    owner text,
    lease_until timestamp with time zone,
    attempts integer DEFAULT 0 NOT NULL,
    error json,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    ended_at timestamp with time zone,
    on_error text DEFAULT 'abort'::text NOT NULL,
    errors_only boolean DEFAULT false NOT NULL,
    errors bigint DEFAULT 0 NOT NULL,
    is_cancelled boolean DEFAULT false NOT NULL,
    undoing json,
    started_at timestamp with time zone,
    code json,
    began xid8 DEFAULT pg_current_xact_id(),
    CONSTRAINT jobs_kind_check CHECK ((kind = ANY (ARRAY['fill'::text, 'recompute'::text, 'close_pending'::text, 'build_index'::text]))),
    CONSTRAINT jobs_on_error_check CHECK ((on_error = ANY (ARRAY['abort'::text, 'ignore'::text]))),
    CONSTRAINT jobs_state_check CHECK ((state = ANY (ARRAY['queued'::text, 'running'::text, 'done'::text, 'failed'::text, 'cancelled'::text])))
);

COMMENT ON COLUMN appdb.jobs.code IS 'Digests of the code of the functions that its columns call, by function id; null for jobs of earlier versions.';

COMMENT ON COLUMN appdb.jobs.began IS 'The transaction that queued it; null for jobs of earlier versions.';

ALTER TABLE appdb.jobs ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME appdb.jobs_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE appdb.live_watches (
    table_id bigint NOT NULL,
    owner uuid NOT NULL,
    columns text[] DEFAULT '{}'::text[] NOT NULL,
    until timestamp with time zone NOT NULL
);

CREATE TABLE appdb.media_files (
    name text NOT NULL COLLATE pg_catalog."C",
    store text NOT NULL,
    key text NOT NULL,
    type text NOT NULL,
    updated_at timestamp with time zone NOT NULL
);

COMMENT ON TABLE appdb.media_files IS 'Names of objects. A name keeps its object; another put under the name gives it another object.';

CREATE TABLE appdb.media_objects (
    store text NOT NULL,
    key text NOT NULL,
    bytes bigint NOT NULL,
    put_at timestamp with time zone NOT NULL,
    checked_at timestamp with time zone
);

COMMENT ON TABLE appdb.media_objects IS 'An object is recorded before it is written, and deleted while its row is locked.';

CREATE TABLE appdb.media_secret (
    only_row boolean DEFAULT true NOT NULL,
    secret bytea NOT NULL,
    CONSTRAINT media_secret_only_row_check CHECK (only_row)
);

CREATE TABLE appdb.media_use (
    only_row boolean DEFAULT true NOT NULL,
    objects bigint NOT NULL,
    bytes bigint NOT NULL,
    CONSTRAINT media_use_only_row_check CHECK (only_row)
);

COMMENT ON TABLE appdb.media_use IS 'The sum of the objects of the store home in appdb.media_objects. Triggers write it.';

CREATE TABLE appdb.migrations (
    id integer NOT NULL,
    breaking boolean NOT NULL,
    product_version text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE appdb.requests (
    id uuid NOT NULL,
    digest uuid NOT NULL,
    status smallint NOT NULL,
    headers json,
    body text NOT NULL,
    made text[],
    expires_at timestamp with time zone NOT NULL
);

COMMENT ON COLUMN appdb.requests.made IS 'Where values that SQL computes belong in the body, as JSON; behind it these values, as PostgreSQL writes them. Null: nowhere.';

CREATE TABLE appdb.state (
    only_row boolean DEFAULT true NOT NULL,
    version bigint DEFAULT 0 NOT NULL,
    incarnation uuid DEFAULT gen_random_uuid() NOT NULL,
    CONSTRAINT state_only_row_check CHECK (only_row)
);

CREATE TABLE appdb.tables (
    id bigint NOT NULL,
    folder text NOT NULL,
    name text NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    model text NOT NULL,
    comment text,
    custom_metadata json,
    primary_key text[] NOT NULL,
    has_default_idxs boolean NOT NULL,
    identity text NOT NULL,
    runtime_id text,
    renamed_from text,
    project text,
    rows_of json
);

COMMENT ON COLUMN appdb.tables.rows_of IS '{"table", "column", "text"} of an iterator view: the table and its column that makes the rows; null for a table.';

ALTER TABLE appdb.tables ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME appdb.tables_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE appdb.views (
    id bigint NOT NULL,
    folder text NOT NULL,
    name text NOT NULL,
    table_id bigint NOT NULL,
    model text NOT NULL,
    comment text,
    custom_metadata json,
    definition json NOT NULL,
    renamed_from text,
    project text
);

COMMENT ON TABLE appdb.views IS 'Filtered views; the rows of each are those of its table that it defines.';

COMMENT ON COLUMN appdb.views.definition IS '{"base", "filter", "member", "columns", "indexes"}; columns: name of the view''s column and of the table''s.';

ALTER TABLE appdb.views ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME appdb.views_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

ALTER TABLE ONLY appdb.folders
    ADD CONSTRAINT "appdb.folders.name" PRIMARY KEY (name);

ALTER TABLE ONLY appdb.media_files
    ADD CONSTRAINT "appdb.media_files.name" PRIMARY KEY (name);

ALTER TABLE ONLY appdb.media_objects
    ADD CONSTRAINT "appdb.media_objects.key" PRIMARY KEY (store, key);

ALTER TABLE ONLY appdb.media_secret
    ADD CONSTRAINT "appdb.media_secret.only_row" PRIMARY KEY (only_row);

ALTER TABLE ONLY appdb.media_use
    ADD CONSTRAINT "appdb.media_use.only_row" PRIMARY KEY (only_row);

ALTER TABLE ONLY appdb.requests
    ADD CONSTRAINT "appdb.requests.id" PRIMARY KEY (id);

ALTER TABLE ONLY appdb.background
    ADD CONSTRAINT background_pkey PRIMARY KEY (id);

ALTER TABLE ONLY appdb.changes
    ADD CONSTRAINT changes_pkey PRIMARY KEY (id);

ALTER TABLE ONLY appdb.columns
    ADD CONSTRAINT columns_pkey PRIMARY KEY (id);

ALTER TABLE ONLY appdb.columns
    ADD CONSTRAINT columns_table_id_name_key UNIQUE (table_id, name);

ALTER TABLE ONLY appdb.functions
    ADD CONSTRAINT functions_pkey PRIMARY KEY (id);

ALTER TABLE ONLY appdb.indexes
    ADD CONSTRAINT indexes_pkey PRIMARY KEY (id);

ALTER TABLE ONLY appdb.indexes
    ADD CONSTRAINT indexes_table_id_sql_name_key UNIQUE (table_id, sql_name);

ALTER TABLE ONLY appdb.jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (id);

ALTER TABLE ONLY appdb.live_watches
    ADD CONSTRAINT live_watches_pkey PRIMARY KEY (table_id, owner);

ALTER TABLE ONLY appdb.migrations
    ADD CONSTRAINT migrations_pkey PRIMARY KEY (id);

ALTER TABLE ONLY appdb.state
    ADD CONSTRAINT state_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY appdb.tables
    ADD CONSTRAINT tables_folder_name_key UNIQUE (folder, name);

ALTER TABLE ONLY appdb.tables
    ADD CONSTRAINT tables_pkey PRIMARY KEY (id);

ALTER TABLE ONLY appdb.views
    ADD CONSTRAINT views_folder_name_key UNIQUE (folder, name);

ALTER TABLE ONLY appdb.views
    ADD CONSTRAINT views_pkey PRIMARY KEY (id);

CREATE INDEX "appdb.media_files.by_object" ON appdb.media_files USING btree (store, key);

CREATE INDEX background_expiry ON appdb.background USING btree (expires_at) WHERE (expires_at IS NOT NULL);

CREATE INDEX background_open ON appdb.background USING btree (folder, service, seq) WHERE (state = ANY (ARRAY['queued'::text, 'running'::text]));

CREATE INDEX changes_version ON appdb.changes USING btree (version);

CREATE INDEX jobs_ended ON appdb.jobs USING btree (ended_at) WHERE (ended_at IS NOT NULL);

CREATE INDEX jobs_open ON appdb.jobs USING btree (seq) WHERE (state = ANY (ARRAY['queued'::text, 'running'::text]));

CREATE UNIQUE INDEX jobs_pending ON appdb.jobs USING btree (table_id) WHERE ((kind = 'close_pending'::text) AND (state = 'queued'::text));

CREATE INDEX requests_expiry ON appdb.requests USING brin (expires_at);

CREATE TRIGGER "appdb.media_objects.deleted" AFTER DELETE ON appdb.media_objects REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION appdb.count_media();

CREATE TRIGGER "appdb.media_objects.recorded" AFTER INSERT ON appdb.media_objects REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION appdb.count_media();

ALTER TABLE ONLY appdb.media_files
    ADD CONSTRAINT "appdb.media_files.object" FOREIGN KEY (store, key) REFERENCES appdb.media_objects(store, key);

ALTER TABLE ONLY appdb.columns
    ADD CONSTRAINT columns_table_id_fkey FOREIGN KEY (table_id) REFERENCES appdb.tables(id) ON DELETE CASCADE;

ALTER TABLE ONLY appdb.indexes
    ADD CONSTRAINT indexes_replaces_fkey FOREIGN KEY (replaces) REFERENCES appdb.indexes(id) ON DELETE SET NULL;

ALTER TABLE ONLY appdb.indexes
    ADD CONSTRAINT indexes_table_id_fkey FOREIGN KEY (table_id) REFERENCES appdb.tables(id) ON DELETE CASCADE;

ALTER TABLE ONLY appdb.indexes
    ADD CONSTRAINT indexes_values_id_fkey FOREIGN KEY (values_id) REFERENCES appdb.columns(id) ON DELETE CASCADE;

ALTER TABLE ONLY appdb.views
    ADD CONSTRAINT views_table_id_fkey FOREIGN KEY (table_id) REFERENCES appdb.tables(id) ON DELETE CASCADE;

