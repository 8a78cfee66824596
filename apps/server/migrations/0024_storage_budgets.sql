-- An organization's storage is counted from rows, which exist before the bytes. A blob that is being written has a
-- row that is not stored yet. Each folder of unpacked project files has a row. An image that is being built has a
-- reservation with an expiry. Columns with constant defaults rewrite no table. Operations are counted once for their
-- output so far.
alter table control.blobs add column is_stored boolean not null default true;

alter table control.trees add column list_bytes integer not null default 0;
update control.trees set list_bytes = octet_length(entries::text);

alter table control.images add column files integer not null default 0;
alter table control.images add column reserved_bytes bigint not null default 0;
alter table control.images add column reserved_until timestamptz;

create table control.unpacked (
  database_id uuid not null references control.databases (id) on delete cascade,
  -- its name below the database's files: the digest of the tree, or a draft's name during the write
  folder text not null,
  org_id uuid not null references control.organizations (id) on delete cascade,
  bytes bigint not null,
  files integer not null,
  created_at timestamptz not null default now(),
  primary key (database_id, folder)
);
create index unpacked_org on control.unpacked (org_id);

-- Lines are kept for an organization's newest operations, up to a total size.
alter table control.operations add column line_bytes bigint not null default 0;
update control.operations o set line_bytes = said.bytes
  from (select operation_id, sum(octet_length(line) + 100) as bytes from control.operation_lines group by operation_id) said
  where said.operation_id = o.id;
create index operations_with_lines on control.operations (org_id, id) where line_bytes > 0;
