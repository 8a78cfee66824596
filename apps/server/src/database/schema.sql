CREATE SCHEMA control;

CREATE SCHEMA identity;

CREATE FUNCTION control.certificate_changed() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  perform pg_notify('control_certificates', new.database_id::text);
  return null;
end $$;

CREATE FUNCTION control.database_changed() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  perform pg_notify('control_databases', new.id::text);
  return null;
end $$;

CREATE FUNCTION control.database_routes_changed() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  perform pg_notify('control_service_routes', new.id::text);
  return null;
end $$;

CREATE FUNCTION control.keys_changed() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
declare
  changed uuid := coalesce(new.org_id, old.org_id);
begin
  insert into control.key_versions as v (org_id, version) values (changed, 1)
  on conflict (org_id) do update set version = v.version + 1;
  perform pg_notify('control_keys', changed::text);
  return null;
end $$;

CREATE FUNCTION control.number_event() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  if new.org_id is not null then
    perform pg_advisory_xact_lock(hashtextextended('control.events ' || new.org_id::text, 0));
  end if;
  new.id := nextval('control.event_ids');
  new.at := clock_timestamp();
  perform pg_notify('control_events', coalesce(new.org_id::text, ''));
  return new;
end $$;

CREATE FUNCTION control.operation_changed() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  perform pg_notify('control_operations', new.id::text);
  return null;
end $$;

CREATE FUNCTION control.operation_said() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  perform pg_notify('control_lines', operation_id::text) from (select distinct operation_id from added) said;
  return null;
end $$;

CREATE FUNCTION control.refuse_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  raise exception 'control.events is append-only: % is refused', tg_op;
end $$;

CREATE FUNCTION control.service_routes_changed() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  perform pg_notify('control_service_routes', coalesce(new.database_id, old.database_id)::text);
  return null;
end $$;

CREATE FUNCTION control.take_release_cors() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  select nullif(service -> 'cors', 'null'::jsonb) into new.cors
  from jsonb_array_elements((new.manifest::jsonb) -> 'services') as service
  where service ->> 'name' = (select regexp_replace(s.name, '^.*/', '') from control.services s where s.id = new.service_id);
  return new;
end $$;

CREATE TABLE control.acme_accounts (
    directory text NOT NULL,
    master_key_id text NOT NULL,
    wrapped bytea NOT NULL
);

CREATE TABLE control.api_keys (
    id text NOT NULL,
    org_id uuid NOT NULL,
    name text NOT NULL,
    hash bytea NOT NULL,
    previous_hash bytea,
    previous_until timestamp with time zone,
    grants text[] NOT NULL,
    created_by text,
    acts_as text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    last_used_at timestamp with time zone,
    expires_at timestamp with time zone,
    CONSTRAINT api_keys_check CHECK (((acts_as IS NULL) = (cardinality(grants) > 0))),
    CONSTRAINT api_keys_check1 CHECK (((previous_hash IS NULL) = (previous_until IS NULL))),
    CONSTRAINT api_keys_hash_check CHECK ((length(hash) = 32)),
    CONSTRAINT api_keys_id_check CHECK ((id ~ '^[a-z0-9]{12}$'::text)),
    CONSTRAINT api_keys_name_check CHECK (((length(name) >= 1) AND (length(name) <= 63))),
    CONSTRAINT api_keys_previous_hash_check CHECK ((length(previous_hash) = 32))
);

CREATE TABLE control.blobs (
    org_id uuid NOT NULL,
    digest text NOT NULL,
    bytes integer NOT NULL,
    used_at timestamp with time zone DEFAULT now() NOT NULL,
    is_stored boolean DEFAULT true NOT NULL
);

CREATE TABLE control.data_keys (
    id uuid DEFAULT uuidv7() NOT NULL,
    org_id uuid NOT NULL,
    database_id uuid,
    master_key_id text NOT NULL,
    wrapped bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE control.databases (
    id uuid DEFAULT uuidv7() NOT NULL,
    org_id uuid NOT NULL,
    name text NOT NULL,
    state text DEFAULT 'PROVISIONING'::text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    generation integer DEFAULT 1 NOT NULL,
    observed_generation integer DEFAULT 0 NOT NULL,
    desired jsonb DEFAULT '{"tree": null, "builds": 0, "is_awake": true, "restarts": 0, "settings": {"vars": {}, "sleep_after": "never", "wake_on_request": false, "db_input_media_dest": null, "db_output_media_dest": null}, "resources": {"cpu": 1, "disk_gb": 10, "workers": 1, "memory_mb": 1024}, "environment": null}'::jsonb NOT NULL,
    observed jsonb,
    failure jsonb,
    last_build jsonb,
    usage jsonb,
    awake_because text,
    last_used_at timestamp with time zone,
    data_key_id uuid,
    sealed_pod_token bytea,
    purge_at timestamp with time zone,
    failed_starts integer DEFAULT 0 NOT NULL,
    needed_trees jsonb,
    gateway_label text DEFAULT ('d'::text || substr(replace((gen_random_uuid())::text, '-'::text, ''::text), 1, 15)),
    gateway_port integer,
    cpu_ms bigint DEFAULT 0 NOT NULL,
    awake_ms bigint DEFAULT 0 NOT NULL,
    metered jsonb,
    stopped_by_suspension boolean DEFAULT false NOT NULL,
    retry_at timestamp with time zone,
    CONSTRAINT databases_purge CHECK (((purge_at IS NULL) = (state <> 'DELETING'::text))),
    CONSTRAINT databases_state CHECK ((state = ANY (ARRAY['PROVISIONING'::text, 'UPDATING'::text, 'AVAILABLE'::text, 'STOPPING'::text, 'STOPPED'::text, 'STARTING'::text, 'FAILED'::text, 'DELETING'::text])))
);

CREATE TABLE control.deliveries (
    id uuid DEFAULT uuidv7() NOT NULL,
    webhook_id uuid NOT NULL,
    event_id bigint NOT NULL,
    state text DEFAULT 'pending'::text NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    last_status integer,
    last_error text,
    next_attempt_at timestamp with time zone,
    give_up_at timestamp with time zone DEFAULT (now() + '3 days'::interval) NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT deliveries_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'delivered'::text, 'dead'::text])))
);

CREATE TABLE control.deploys (
    id uuid DEFAULT uuidv7() NOT NULL,
    org_id uuid NOT NULL,
    database_id uuid NOT NULL,
    app_file text NOT NULL,
    state text DEFAULT 'running'::text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    created_by text NOT NULL,
    ended_at timestamp with time zone,
    before jsonb NOT NULL,
    after jsonb,
    alive_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT deploys_state_check CHECK ((state = ANY (ARRAY['running'::text, 'done'::text, 'failed'::text, 'rolling_back'::text, 'rolled_back'::text])))
);

CREATE TABLE control.events (
    id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    org_id uuid,
    action text NOT NULL,
    target text NOT NULL,
    actor text NOT NULL,
    user_id text,
    key_id text,
    ip_address text,
    client text,
    outcome text NOT NULL,
    operation_id uuid,
    detail jsonb NOT NULL,
    CONSTRAINT events_outcome_check CHECK ((outcome = ANY (ARRAY['succeeded'::text, 'refused'::text, 'failed'::text, 'pending'::text])))
);

CREATE SEQUENCE control.event_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE control.event_ids OWNED BY control.events.id;

CREATE TABLE control.gateway_certificates (
    database_id uuid NOT NULL,
    host text NOT NULL,
    directory text NOT NULL,
    chain text,
    data_key_id uuid,
    sealed_key bytea,
    challenge jsonb,
    asked_directory text NOT NULL,
    next_order_at timestamp with time zone DEFAULT now() NOT NULL,
    failures integer DEFAULT 0 NOT NULL,
    failure text,
    version integer DEFAULT 1 NOT NULL
);

CREATE TABLE control.idempotency (
    principal text NOT NULL,
    route text NOT NULL,
    key text NOT NULL,
    request_hash bytea NOT NULL,
    status integer NOT NULL,
    answer bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE control.images (
    org_id uuid NOT NULL,
    hash text NOT NULL,
    state text NOT NULL,
    environment jsonb NOT NULL,
    python text,
    packages jsonb,
    bytes bigint,
    built_at timestamp with time zone,
    used_at timestamp with time zone DEFAULT now() NOT NULL,
    files integer DEFAULT 0 NOT NULL,
    reserved_bytes bigint DEFAULT 0 NOT NULL,
    reserved_until timestamp with time zone,
    CONSTRAINT images_state_check CHECK ((state = ANY (ARRAY['building'::text, 'ready'::text, 'failed'::text])))
);

CREATE TABLE control.invitations (
    id uuid DEFAULT uuidv7() NOT NULL,
    org_id uuid NOT NULL,
    email text NOT NULL,
    role text NOT NULL,
    token_hash bytea NOT NULL,
    invited_by text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT invitations_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text, 'member'::text])))
);

CREATE TABLE control.jobs (
    key text NOT NULL,
    id bigint NOT NULL,
    name text NOT NULL,
    payload jsonb NOT NULL,
    lane text NOT NULL,
    run_at timestamp with time zone DEFAULT now() NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    lease integer,
    again_at timestamp with time zone
);

ALTER TABLE control.jobs ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME control.jobs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE control.key_versions (
    org_id uuid NOT NULL,
    version bigint NOT NULL
);

CREATE TABLE control.members (
    id uuid DEFAULT uuidv7() NOT NULL,
    org_id uuid NOT NULL,
    user_id text NOT NULL,
    role text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT members_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text, 'member'::text])))
);

CREATE TABLE control.migrations (
    number integer NOT NULL,
    name text NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE control.operation_lines (
    operation_id uuid NOT NULL,
    number integer NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    level text NOT NULL,
    line text NOT NULL,
    CONSTRAINT operation_lines_level_check CHECK ((level = ANY (ARRAY['debug'::text, 'info'::text, 'warn'::text, 'error'::text])))
);

CREATE TABLE control.operations (
    id uuid DEFAULT uuidv7() NOT NULL,
    org_id uuid NOT NULL,
    database_id uuid,
    kind text NOT NULL,
    target text NOT NULL,
    state text DEFAULT 'pending'::text NOT NULL,
    is_cancellable boolean NOT NULL,
    actor text NOT NULL,
    user_id text,
    detail text,
    error jsonb,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    started_at timestamp with time zone,
    ended_at timestamp with time zone,
    service_id uuid,
    line_bytes bigint DEFAULT 0 NOT NULL,
    CONSTRAINT operations_check CHECK (((ended_at IS NULL) = (state = ANY (ARRAY['pending'::text, 'running'::text])))),
    CONSTRAINT operations_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'running'::text, 'succeeded'::text, 'failed'::text, 'cancelled'::text])))
);

CREATE TABLE control.organizations (
    id uuid DEFAULT uuidv7() NOT NULL,
    name text NOT NULL,
    display_name text NOT NULL,
    database_quota integer NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    created_by text,
    suspended_at timestamp with time zone,
    suspended_for text,
    CONSTRAINT organizations_database_quota_check CHECK ((database_quota > 0)),
    CONSTRAINT organizations_name_check CHECK (((name ~ '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$'::text) AND (length(name) <= 29)))
);

CREATE TABLE control.pods (
    id text NOT NULL,
    database_id uuid NOT NULL,
    kind text NOT NULL,
    state text NOT NULL,
    restarts integer DEFAULT 0 NOT NULL,
    started_at timestamp with time zone,
    reason text,
    memory_bytes bigint,
    draining_since timestamp with time zone,
    memory_ended_at timestamp with time zone,
    memory_ended_mb integer,
    CONSTRAINT pods_kind_check CHECK ((kind = ANY (ARRAY['database'::text, 'service'::text]))),
    CONSTRAINT pods_state_check CHECK ((state = ANY (ARRAY['STARTING'::text, 'READY'::text, 'NOT_READY'::text, 'STOPPED'::text, 'FAILED'::text])))
);

CREATE TABLE control.pods_home (
    is_only boolean DEFAULT true NOT NULL,
    home_id text NOT NULL,
    claimed_at timestamp with time zone DEFAULT now() NOT NULL,
    isolated_at timestamp with time zone,
    CONSTRAINT pods_home_is_only_check CHECK (is_only)
);

CREATE TABLE control.preparations (
    id uuid DEFAULT uuidv7() NOT NULL,
    org_id uuid NOT NULL,
    database_id uuid NOT NULL,
    operation_id uuid NOT NULL,
    app_file text NOT NULL,
    tree text NOT NULL,
    environment text,
    resources jsonb NOT NULL,
    settings jsonb NOT NULL,
    manifest json,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE control.releases (
    service_id uuid NOT NULL,
    number integer NOT NULL,
    tree text,
    environment text,
    app_file text NOT NULL,
    manifest json NOT NULL,
    workers integer NOT NULL,
    changes jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    created_by text NOT NULL,
    cors jsonb,
    served_at timestamp with time zone
);

CREATE TABLE control.secrets (
    org_id uuid NOT NULL,
    database_id uuid,
    name text NOT NULL,
    data_key_id uuid NOT NULL,
    sealed bytea NOT NULL,
    set_by text,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE control.services (
    id uuid DEFAULT uuidv7() NOT NULL,
    org_id uuid NOT NULL,
    database_id uuid NOT NULL,
    name text NOT NULL,
    state text DEFAULT 'DEPLOYING'::text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    generation integer DEFAULT 1 NOT NULL,
    observed_generation integer DEFAULT 0 NOT NULL,
    desired jsonb NOT NULL,
    observed jsonb,
    instance integer DEFAULT 0 NOT NULL,
    failure jsonb,
    failed_starts integer DEFAULT 0 NOT NULL,
    is_pruned boolean DEFAULT false NOT NULL,
    retry_at timestamp with time zone,
    CONSTRAINT services_state_check CHECK ((state = ANY (ARRAY['DEPLOYING'::text, 'STARTING'::text, 'UPDATING'::text, 'AVAILABLE'::text, 'STOPPING'::text, 'STOPPED'::text, 'FAILED'::text])))
);

CREATE TABLE control.session_orgs (
    session_id text NOT NULL,
    org_id uuid NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE control.signing_key (
    is_only boolean DEFAULT true NOT NULL,
    public_key bytea NOT NULL,
    master_key_id text NOT NULL,
    wrapped bytea NOT NULL,
    CONSTRAINT signing_key_is_only_check CHECK (is_only)
);

CREATE TABLE control.traffic (
    service_id uuid NOT NULL,
    minute timestamp with time zone NOT NULL,
    writer text NOT NULL,
    routes jsonb NOT NULL
);

CREATE TABLE control.trees (
    org_id uuid NOT NULL,
    digest text NOT NULL,
    entries jsonb NOT NULL,
    files integer NOT NULL,
    bytes bigint NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    used_at timestamp with time zone DEFAULT now() NOT NULL,
    list_bytes integer DEFAULT 0 NOT NULL
);

CREATE TABLE control.unpacked (
    database_id uuid NOT NULL,
    folder text NOT NULL,
    org_id uuid NOT NULL,
    bytes bigint NOT NULL,
    files integer NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE control.webhooks (
    id uuid DEFAULT uuidv7() NOT NULL,
    org_id uuid NOT NULL,
    url text NOT NULL,
    actions text[] NOT NULL,
    data_key_id uuid NOT NULL,
    sealed_secret bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    failing_since timestamp with time zone,
    failures integer DEFAULT 0 NOT NULL,
    tried_at timestamp with time zone,
    retry_at timestamp with time zone,
    paused_at timestamp with time zone
);

CREATE TABLE identity.accounts (
    id text NOT NULL,
    user_id text NOT NULL,
    provider_id text NOT NULL,
    account_id text NOT NULL,
    password text,
    access_token text,
    refresh_token text,
    id_token text,
    access_token_expires_at timestamp with time zone,
    refresh_token_expires_at timestamp with time zone,
    scope text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE identity.attempts (
    kind text NOT NULL,
    subject bytea NOT NULL,
    count integer NOT NULL,
    since timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE identity.device_codes (
    id text NOT NULL,
    device_code_hash text CONSTRAINT device_codes_device_code_not_null NOT NULL,
    user_code text NOT NULL,
    user_id text,
    client_id text,
    scope text,
    status text NOT NULL,
    polling_interval integer,
    last_polled_at timestamp with time zone,
    expires_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE identity.device_requests (
    user_code text NOT NULL,
    ip_address text,
    user_agent text
);

CREATE TABLE identity.first_account (
    is_only boolean DEFAULT true NOT NULL,
    token_hash bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT first_account_is_only_check CHECK (is_only)
);

CREATE TABLE identity.recovery_codes (
    user_id text NOT NULL,
    code_hash bytea NOT NULL
);

CREATE TABLE identity.second_factors (
    user_id text NOT NULL,
    master_key_id text NOT NULL,
    wrapped bytea NOT NULL,
    enabled_at timestamp with time zone,
    last_step bigint DEFAULT 0 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE identity.sessions (
    id text NOT NULL,
    user_id text NOT NULL,
    token_hash text CONSTRAINT sessions_token_not_null NOT NULL,
    client text DEFAULT 'browser'::text NOT NULL,
    ip_address text,
    user_agent text,
    expires_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    authenticated_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE identity.users (
    id text NOT NULL,
    name text NOT NULL,
    email text NOT NULL,
    email_verified boolean NOT NULL,
    image text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE identity.verifications (
    id text NOT NULL,
    identifier text NOT NULL,
    value text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE ONLY control.acme_accounts
    ADD CONSTRAINT acme_accounts_pkey PRIMARY KEY (directory);

ALTER TABLE ONLY control.api_keys
    ADD CONSTRAINT api_keys_org_id_name_key UNIQUE (org_id, name);

ALTER TABLE ONLY control.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (id);

ALTER TABLE ONLY control.blobs
    ADD CONSTRAINT blobs_pkey PRIMARY KEY (org_id, digest);

ALTER TABLE ONLY control.data_keys
    ADD CONSTRAINT data_keys_org_id_database_id_key UNIQUE NULLS NOT DISTINCT (org_id, database_id);

ALTER TABLE ONLY control.data_keys
    ADD CONSTRAINT data_keys_pkey PRIMARY KEY (id);

ALTER TABLE ONLY control.databases
    ADD CONSTRAINT databases_gateway_label_key UNIQUE (gateway_label);

ALTER TABLE ONLY control.databases
    ADD CONSTRAINT databases_gateway_port_key UNIQUE (gateway_port);

ALTER TABLE ONLY control.databases
    ADD CONSTRAINT databases_org_id_name_key UNIQUE (org_id, name);

ALTER TABLE ONLY control.databases
    ADD CONSTRAINT databases_pkey PRIMARY KEY (id);

ALTER TABLE ONLY control.deliveries
    ADD CONSTRAINT deliveries_pkey PRIMARY KEY (id);

ALTER TABLE ONLY control.deliveries
    ADD CONSTRAINT deliveries_webhook_id_event_id_key UNIQUE (webhook_id, event_id);

ALTER TABLE ONLY control.deploys
    ADD CONSTRAINT deploys_pkey PRIMARY KEY (id);

ALTER TABLE ONLY control.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (id);

ALTER TABLE ONLY control.gateway_certificates
    ADD CONSTRAINT gateway_certificates_pkey PRIMARY KEY (database_id);

ALTER TABLE ONLY control.idempotency
    ADD CONSTRAINT idempotency_pkey PRIMARY KEY (principal, route, key);

ALTER TABLE ONLY control.images
    ADD CONSTRAINT images_pkey PRIMARY KEY (org_id, hash);

ALTER TABLE ONLY control.invitations
    ADD CONSTRAINT invitations_org_id_email_key UNIQUE (org_id, email);

ALTER TABLE ONLY control.invitations
    ADD CONSTRAINT invitations_pkey PRIMARY KEY (id);

ALTER TABLE ONLY control.invitations
    ADD CONSTRAINT invitations_token_hash_key UNIQUE (token_hash);

ALTER TABLE ONLY control.jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (key);

ALTER TABLE ONLY control.key_versions
    ADD CONSTRAINT key_versions_pkey PRIMARY KEY (org_id);

ALTER TABLE ONLY control.members
    ADD CONSTRAINT members_org_id_user_id_key UNIQUE (org_id, user_id);

ALTER TABLE ONLY control.members
    ADD CONSTRAINT members_pkey PRIMARY KEY (id);

ALTER TABLE ONLY control.migrations
    ADD CONSTRAINT migrations_pkey PRIMARY KEY (number);

ALTER TABLE ONLY control.operation_lines
    ADD CONSTRAINT operation_lines_pkey PRIMARY KEY (operation_id, number);

ALTER TABLE ONLY control.operations
    ADD CONSTRAINT operations_pkey PRIMARY KEY (id);

ALTER TABLE ONLY control.organizations
    ADD CONSTRAINT organizations_name_key UNIQUE (name);

ALTER TABLE ONLY control.organizations
    ADD CONSTRAINT organizations_pkey PRIMARY KEY (id);

ALTER TABLE ONLY control.pods_home
    ADD CONSTRAINT pods_home_pkey PRIMARY KEY (is_only);

ALTER TABLE ONLY control.pods
    ADD CONSTRAINT pods_pkey PRIMARY KEY (id);

ALTER TABLE ONLY control.preparations
    ADD CONSTRAINT preparations_pkey PRIMARY KEY (id);

ALTER TABLE ONLY control.releases
    ADD CONSTRAINT releases_pkey PRIMARY KEY (service_id, number);

ALTER TABLE ONLY control.secrets
    ADD CONSTRAINT secrets_org_id_database_id_name_key UNIQUE NULLS NOT DISTINCT (org_id, database_id, name);

ALTER TABLE ONLY control.services
    ADD CONSTRAINT services_database_id_name_key UNIQUE (database_id, name);

ALTER TABLE ONLY control.services
    ADD CONSTRAINT services_pkey PRIMARY KEY (id);

ALTER TABLE ONLY control.session_orgs
    ADD CONSTRAINT session_orgs_pkey PRIMARY KEY (session_id);

ALTER TABLE ONLY control.signing_key
    ADD CONSTRAINT signing_key_pkey PRIMARY KEY (is_only);

ALTER TABLE ONLY control.traffic
    ADD CONSTRAINT traffic_pkey PRIMARY KEY (service_id, minute, writer);

ALTER TABLE ONLY control.trees
    ADD CONSTRAINT trees_pkey PRIMARY KEY (org_id, digest);

ALTER TABLE ONLY control.unpacked
    ADD CONSTRAINT unpacked_pkey PRIMARY KEY (database_id, folder);

ALTER TABLE ONLY control.webhooks
    ADD CONSTRAINT webhooks_pkey PRIMARY KEY (id);

ALTER TABLE ONLY identity.accounts
    ADD CONSTRAINT accounts_pkey PRIMARY KEY (id);

ALTER TABLE ONLY identity.accounts
    ADD CONSTRAINT accounts_provider_id_account_id_key UNIQUE (provider_id, account_id);

ALTER TABLE ONLY identity.attempts
    ADD CONSTRAINT attempts_pkey PRIMARY KEY (kind, subject);

ALTER TABLE ONLY identity.device_codes
    ADD CONSTRAINT device_codes_device_code_hash_key UNIQUE (device_code_hash);

ALTER TABLE ONLY identity.device_codes
    ADD CONSTRAINT device_codes_pkey PRIMARY KEY (id);

ALTER TABLE ONLY identity.device_codes
    ADD CONSTRAINT device_codes_user_code_key UNIQUE (user_code);

ALTER TABLE ONLY identity.device_requests
    ADD CONSTRAINT device_requests_pkey PRIMARY KEY (user_code);

ALTER TABLE ONLY identity.first_account
    ADD CONSTRAINT first_account_pkey PRIMARY KEY (is_only);

ALTER TABLE ONLY identity.recovery_codes
    ADD CONSTRAINT recovery_codes_pkey PRIMARY KEY (user_id, code_hash);

ALTER TABLE ONLY identity.second_factors
    ADD CONSTRAINT second_factors_pkey PRIMARY KEY (user_id);

ALTER TABLE ONLY identity.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (id);

ALTER TABLE ONLY identity.sessions
    ADD CONSTRAINT sessions_token_hash_key UNIQUE (token_hash);

ALTER TABLE ONLY identity.users
    ADD CONSTRAINT users_email_key UNIQUE (email);

ALTER TABLE ONLY identity.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (id);

ALTER TABLE ONLY identity.verifications
    ADD CONSTRAINT verifications_pkey PRIMARY KEY (id);

CREATE INDEX api_keys_acts_as ON control.api_keys USING btree (org_id, acts_as) WHERE (acts_as IS NOT NULL);

CREATE INDEX deliveries_waiting ON control.deliveries USING btree (webhook_id, next_attempt_at) WHERE (state = 'pending'::text);

CREATE INDEX deliveries_webhook ON control.deliveries USING btree (webhook_id, id DESC);

CREATE INDEX deploys_database ON control.deploys USING btree (database_id, id DESC);

CREATE INDEX events_org ON control.events USING btree (org_id, id DESC);

CREATE INDEX idempotency_created_at ON control.idempotency USING btree (created_at);

CREATE INDEX jobs_due ON control.jobs USING btree (name, run_at) WHERE (lease IS NULL);

CREATE UNIQUE INDEX jobs_running ON control.jobs USING btree (lane) WHERE (lease IS NOT NULL);

CREATE INDEX members_user ON control.members USING btree (user_id);

CREATE INDEX operations_database ON control.operations USING btree (database_id, id DESC);

CREATE UNIQUE INDEX operations_open ON control.operations USING btree (database_id, kind) WHERE ((state = ANY (ARRAY['pending'::text, 'running'::text])) AND (service_id IS NULL));

CREATE UNIQUE INDEX operations_open_of_services ON control.operations USING btree (service_id, kind) WHERE ((state = ANY (ARRAY['pending'::text, 'running'::text])) AND (service_id IS NOT NULL));

CREATE INDEX operations_org ON control.operations USING btree (org_id, id DESC);

CREATE INDEX operations_with_lines ON control.operations USING btree (org_id, id) WHERE (line_bytes > 0);

CREATE INDEX organizations_created_by ON control.organizations USING btree (created_by);

CREATE INDEX pods_database ON control.pods USING btree (database_id);

CREATE INDEX preparations_database ON control.preparations USING btree (database_id);

CREATE INDEX preparations_operation ON control.preparations USING btree (operation_id);

CREATE INDEX services_org ON control.services USING btree (org_id);

CREATE INDEX traffic_minute ON control.traffic USING btree (minute);

CREATE INDEX unpacked_org ON control.unpacked USING btree (org_id);

CREATE INDEX webhooks_org ON control.webhooks USING btree (org_id);

CREATE INDEX accounts_user ON identity.accounts USING btree (user_id);

CREATE INDEX attempts_since ON identity.attempts USING btree (since);

CREATE INDEX sessions_user ON identity.sessions USING btree (user_id);

CREATE INDEX verifications_identifier ON identity.verifications USING btree (identifier);

CREATE TRIGGER certificate_changed AFTER INSERT OR UPDATE OF version ON control.gateway_certificates FOR EACH ROW EXECUTE FUNCTION control.certificate_changed();

CREATE TRIGGER database_changed AFTER UPDATE OF state, generation, observed_generation ON control.databases FOR EACH ROW EXECUTE FUNCTION control.database_changed();

CREATE TRIGGER database_routes_changed AFTER INSERT OR UPDATE OF state, gateway_port, gateway_label ON control.databases FOR EACH ROW EXECUTE FUNCTION control.database_routes_changed();

CREATE TRIGGER events_stay BEFORE DELETE OR UPDATE ON control.events FOR EACH ROW EXECUTE FUNCTION control.refuse_change();

CREATE TRIGGER events_stay_whole BEFORE TRUNCATE ON control.events FOR EACH STATEMENT EXECUTE FUNCTION control.refuse_change();

CREATE TRIGGER keys_changed AFTER INSERT OR DELETE OR UPDATE OF hash, previous_hash, previous_until, grants, acts_as, expires_at ON control.api_keys FOR EACH ROW EXECUTE FUNCTION control.keys_changed();

CREATE TRIGGER members_changed AFTER UPDATE OF role ON control.members FOR EACH ROW EXECUTE FUNCTION control.keys_changed();

CREATE TRIGGER number_event BEFORE INSERT ON control.events FOR EACH ROW EXECUTE FUNCTION control.number_event();

CREATE TRIGGER operation_changed AFTER UPDATE OF state ON control.operations FOR EACH ROW EXECUTE FUNCTION control.operation_changed();

CREATE TRIGGER operation_said AFTER INSERT ON control.operation_lines REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION control.operation_said();

CREATE TRIGGER service_routes_changed AFTER INSERT OR DELETE OR UPDATE OF state, generation, observed, is_pruned ON control.services FOR EACH ROW EXECUTE FUNCTION control.service_routes_changed();

CREATE TRIGGER take_release_cors BEFORE INSERT OR UPDATE OF manifest ON control.releases FOR EACH ROW EXECUTE FUNCTION control.take_release_cors();

ALTER TABLE ONLY control.api_keys
    ADD CONSTRAINT api_keys_created_by_fkey FOREIGN KEY (created_by) REFERENCES identity.users(id) ON DELETE SET NULL;

ALTER TABLE ONLY control.api_keys
    ADD CONSTRAINT api_keys_org_id_acts_as_fkey FOREIGN KEY (org_id, acts_as) REFERENCES control.members(org_id, user_id) ON DELETE CASCADE;

ALTER TABLE ONLY control.api_keys
    ADD CONSTRAINT api_keys_org_id_fkey FOREIGN KEY (org_id) REFERENCES control.organizations(id) ON DELETE CASCADE;

ALTER TABLE ONLY control.blobs
    ADD CONSTRAINT blobs_org_id_fkey FOREIGN KEY (org_id) REFERENCES control.organizations(id) ON DELETE CASCADE;

ALTER TABLE ONLY control.data_keys
    ADD CONSTRAINT data_keys_database_id_fkey FOREIGN KEY (database_id) REFERENCES control.databases(id) ON DELETE CASCADE;

ALTER TABLE ONLY control.data_keys
    ADD CONSTRAINT data_keys_org_id_fkey FOREIGN KEY (org_id) REFERENCES control.organizations(id) ON DELETE CASCADE;

ALTER TABLE ONLY control.databases
    ADD CONSTRAINT databases_data_key_id_fkey FOREIGN KEY (data_key_id) REFERENCES control.data_keys(id);

ALTER TABLE ONLY control.databases
    ADD CONSTRAINT databases_org_id_fkey FOREIGN KEY (org_id) REFERENCES control.organizations(id) ON DELETE CASCADE;

ALTER TABLE ONLY control.deliveries
    ADD CONSTRAINT deliveries_event_id_fkey FOREIGN KEY (event_id) REFERENCES control.events(id);

ALTER TABLE ONLY control.deliveries
    ADD CONSTRAINT deliveries_webhook_id_fkey FOREIGN KEY (webhook_id) REFERENCES control.webhooks(id) ON DELETE CASCADE;

ALTER TABLE ONLY control.deploys
    ADD CONSTRAINT deploys_database_id_fkey FOREIGN KEY (database_id) REFERENCES control.databases(id) ON DELETE CASCADE;

ALTER TABLE ONLY control.deploys
    ADD CONSTRAINT deploys_org_id_fkey FOREIGN KEY (org_id) REFERENCES control.organizations(id) ON DELETE CASCADE;

ALTER TABLE ONLY control.gateway_certificates
    ADD CONSTRAINT gateway_certificates_database_id_fkey FOREIGN KEY (database_id) REFERENCES control.databases(id) ON DELETE CASCADE;

ALTER TABLE ONLY control.images
    ADD CONSTRAINT images_org_id_fkey FOREIGN KEY (org_id) REFERENCES control.organizations(id) ON DELETE CASCADE;

ALTER TABLE ONLY control.invitations
    ADD CONSTRAINT invitations_invited_by_fkey FOREIGN KEY (invited_by) REFERENCES identity.users(id) ON DELETE SET NULL;

ALTER TABLE ONLY control.invitations
    ADD CONSTRAINT invitations_org_id_fkey FOREIGN KEY (org_id) REFERENCES control.organizations(id) ON DELETE CASCADE;

ALTER TABLE ONLY control.members
    ADD CONSTRAINT members_org_id_fkey FOREIGN KEY (org_id) REFERENCES control.organizations(id) ON DELETE CASCADE;

ALTER TABLE ONLY control.members
    ADD CONSTRAINT members_user_id_fkey FOREIGN KEY (user_id) REFERENCES identity.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY control.operation_lines
    ADD CONSTRAINT operation_lines_operation_id_fkey FOREIGN KEY (operation_id) REFERENCES control.operations(id) ON DELETE CASCADE;

ALTER TABLE ONLY control.operations
    ADD CONSTRAINT operations_database_id_fkey FOREIGN KEY (database_id) REFERENCES control.databases(id) ON DELETE SET NULL;

ALTER TABLE ONLY control.operations
    ADD CONSTRAINT operations_org_id_fkey FOREIGN KEY (org_id) REFERENCES control.organizations(id) ON DELETE CASCADE;

ALTER TABLE ONLY control.operations
    ADD CONSTRAINT operations_service_id_fkey FOREIGN KEY (service_id) REFERENCES control.services(id) ON DELETE SET NULL;

ALTER TABLE ONLY control.organizations
    ADD CONSTRAINT organizations_created_by_fkey FOREIGN KEY (created_by) REFERENCES identity.users(id) ON DELETE SET NULL;

ALTER TABLE ONLY control.pods
    ADD CONSTRAINT pods_database_id_fkey FOREIGN KEY (database_id) REFERENCES control.databases(id) ON DELETE CASCADE;

ALTER TABLE ONLY control.preparations
    ADD CONSTRAINT preparations_database_id_fkey FOREIGN KEY (database_id) REFERENCES control.databases(id) ON DELETE CASCADE;

ALTER TABLE ONLY control.preparations
    ADD CONSTRAINT preparations_operation_id_fkey FOREIGN KEY (operation_id) REFERENCES control.operations(id) ON DELETE CASCADE;

ALTER TABLE ONLY control.preparations
    ADD CONSTRAINT preparations_org_id_fkey FOREIGN KEY (org_id) REFERENCES control.organizations(id) ON DELETE CASCADE;

ALTER TABLE ONLY control.releases
    ADD CONSTRAINT releases_service_id_fkey FOREIGN KEY (service_id) REFERENCES control.services(id) ON DELETE CASCADE;

ALTER TABLE ONLY control.secrets
    ADD CONSTRAINT secrets_data_key_id_fkey FOREIGN KEY (data_key_id) REFERENCES control.data_keys(id) ON DELETE CASCADE;

ALTER TABLE ONLY control.secrets
    ADD CONSTRAINT secrets_database_id_fkey FOREIGN KEY (database_id) REFERENCES control.databases(id) ON DELETE CASCADE;

ALTER TABLE ONLY control.secrets
    ADD CONSTRAINT secrets_org_id_fkey FOREIGN KEY (org_id) REFERENCES control.organizations(id) ON DELETE CASCADE;

ALTER TABLE ONLY control.services
    ADD CONSTRAINT services_database_id_fkey FOREIGN KEY (database_id) REFERENCES control.databases(id) ON DELETE CASCADE;

ALTER TABLE ONLY control.services
    ADD CONSTRAINT services_org_id_fkey FOREIGN KEY (org_id) REFERENCES control.organizations(id) ON DELETE CASCADE;

ALTER TABLE ONLY control.session_orgs
    ADD CONSTRAINT session_orgs_org_id_fkey FOREIGN KEY (org_id) REFERENCES control.organizations(id) ON DELETE CASCADE;

ALTER TABLE ONLY control.session_orgs
    ADD CONSTRAINT session_orgs_session_id_fkey FOREIGN KEY (session_id) REFERENCES identity.sessions(id) ON DELETE CASCADE;

ALTER TABLE ONLY control.traffic
    ADD CONSTRAINT traffic_service_id_fkey FOREIGN KEY (service_id) REFERENCES control.services(id) ON DELETE CASCADE;

ALTER TABLE ONLY control.trees
    ADD CONSTRAINT trees_org_id_fkey FOREIGN KEY (org_id) REFERENCES control.organizations(id) ON DELETE CASCADE;

ALTER TABLE ONLY control.unpacked
    ADD CONSTRAINT unpacked_database_id_fkey FOREIGN KEY (database_id) REFERENCES control.databases(id) ON DELETE CASCADE;

ALTER TABLE ONLY control.unpacked
    ADD CONSTRAINT unpacked_org_id_fkey FOREIGN KEY (org_id) REFERENCES control.organizations(id) ON DELETE CASCADE;

ALTER TABLE ONLY control.webhooks
    ADD CONSTRAINT webhooks_data_key_id_fkey FOREIGN KEY (data_key_id) REFERENCES control.data_keys(id) ON DELETE CASCADE;

ALTER TABLE ONLY control.webhooks
    ADD CONSTRAINT webhooks_org_id_fkey FOREIGN KEY (org_id) REFERENCES control.organizations(id) ON DELETE CASCADE;

ALTER TABLE ONLY identity.accounts
    ADD CONSTRAINT accounts_user_id_fkey FOREIGN KEY (user_id) REFERENCES identity.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY identity.device_codes
    ADD CONSTRAINT device_codes_user_id_fkey FOREIGN KEY (user_id) REFERENCES identity.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY identity.device_requests
    ADD CONSTRAINT device_requests_user_code_fkey FOREIGN KEY (user_code) REFERENCES identity.device_codes(user_code) ON DELETE CASCADE;

ALTER TABLE ONLY identity.recovery_codes
    ADD CONSTRAINT recovery_codes_user_id_fkey FOREIGN KEY (user_id) REFERENCES identity.second_factors(user_id) ON DELETE CASCADE;

ALTER TABLE ONLY identity.second_factors
    ADD CONSTRAINT second_factors_user_id_fkey FOREIGN KEY (user_id) REFERENCES identity.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY identity.sessions
    ADD CONSTRAINT sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES identity.users(id) ON DELETE CASCADE;

