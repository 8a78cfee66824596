-- Embedding indexes, and the hidden columns that hold their vectors. Locks two small tables for a moment.
-- breaking: an older version takes such an index for a B-tree, and such a column for one that the file no longer declares
alter table appdb.columns add column is_hidden boolean not null default false;
alter table appdb.indexes
  drop constraint indexes_kind_check,
  add constraint indexes_kind_check check (kind in ('btree', 'embedding')),
  -- {metric, precision, dimensions}
  add column embedding json,
  -- The hidden column that holds the vectors; null when the indexed column does.
  add column values_id bigint references appdb.columns on delete cascade,
  -- The index that answers until this one is built.
  add column replaces bigint references appdb.indexes on delete set null;
