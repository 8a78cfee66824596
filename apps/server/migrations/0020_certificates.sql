-- Certificates that the gateway orders by ACME, and what the services of a release say of pages of other origins, so that the gateway need
-- not read whole manifests. New tables; a column that is null, filled for the few releases that are kept.
create table control.acme_accounts (
  -- address of the directory: an account is of one authority
  directory text primary key,
  -- of another master key it is of no use any more, and another account is made
  master_key_id text not null,
  wrapped bytea not null
);

create table control.gateway_certificates (
  database_id uuid primary key references control.databases (id) on delete cascade,
  -- what it was ordered for, and where: when either is another by now, another is ordered
  host text not null,
  directory text not null,
  -- PEM, the own one first; null while none was had
  chain text,
  data_key_id uuid,
  sealed_key bytea,
  -- {token, key_authorization}, while an order is under way: any gateway may be asked for it
  challenge jsonb,
  -- where one was ordered last, whatever came of it, and before when none is ordered there again
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
