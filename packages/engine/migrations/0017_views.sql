-- Views of an application. Their rows are rows of a table, and their columns are hidden columns of it. Makes an empty table.
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
