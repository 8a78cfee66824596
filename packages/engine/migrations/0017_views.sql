-- Views of an application. The rows of a filtered view are rows of a table, and its columns are hidden columns of it. The rows of
-- an iterator view are rows of a table of its own. Makes an empty table, and locks a small one for a moment.
create table appdb.views (
  id bigint generated always as identity primary key,
  folder text not null,
  name text not null,
  table_id bigint not null references appdb.tables on delete cascade,
  model text not null,
  comment text,
  custom_metadata json,
  definition json not null,
  renamed_from text,
  project text,
  unique (folder, name)
);
comment on table appdb.views is 'Filtered views; the rows of each are those of its table that it defines.';
comment on column appdb.views.definition is '{"base", "filter", "member", "columns", "indexes"}; columns: name of the view''s column and of the table''s.';
alter table appdb.tables add column rows_of json;
comment on column appdb.tables.rows_of is '{"table", "column", "text"} of an iterator view: the table and its column that makes the rows; null for a table.';
