-- Certificates that the gateway orders by ACME, and the CORS settings of releases, so that the gateway need not read
-- whole manifests. New tables, and a nullable column that is filled for the few kept releases.
create table control.acme_accounts (
  -- the directory's address: an account belongs to one authority
  directory text primary key,
  -- under another master key it is useless, and another account is created
  master_key_id text not null,
  wrapped bytea not null
);

create table control.gateway_certificates (
  database_id uuid primary key references control.databases (id) on delete cascade,
  -- host and authority of the order; if either changes, another certificate is ordered
  host text not null,
  directory text not null,
  -- PEM, the host's own first; null before the first order succeeds
  chain text,
  data_key_id uuid,
  sealed_key bytea,
  -- {token, key_authorization} during an order: the authority may ask any gateway
  challenge jsonb,
  -- the authority of the last order, whatever its result, and the earliest time of the next one there
  asked_directory text not null,
  next_order_at timestamptz not null default now(),
  failures int not null default 0,
  failure text,
  version int not null default 1
);

create function control.certificate_changed() returns trigger language plpgsql as $$
begin
  perform pg_notify('control_certificates', new.database_id::text);
  return null;
end $$;
create trigger certificate_changed after insert or update of version
  on control.gateway_certificates for each row execute function control.certificate_changed();

alter table control.releases add column cors jsonb;
create function control.take_release_cors() returns trigger language plpgsql as $$
begin
  select nullif(service -> 'cors', 'null'::jsonb) into new.cors
  from jsonb_array_elements((new.manifest::jsonb) -> 'services') as service
  where service ->> 'name' = (select regexp_replace(s.name, '^.*/', '') from control.services s where s.id = new.service_id);
  return new;
end $$;
create trigger take_release_cors before insert or update of manifest
  on control.releases for each row execute function control.take_release_cors();
update control.releases set manifest = manifest;
