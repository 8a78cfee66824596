-- Files that people put into the media store under names of their own. Takes a short lock on appdb.media_objects.
create table appdb.media_files (
  -- With folders: pictures/holiday.jpg. In the order of its bytes, so that pages and folders are ranges.
  name text collate "C" constraint "appdb.media_files.name" primary key,
  store text not null,
  key text not null,
  type text not null,
  updated_at timestamptz not null,
  constraint "appdb.media_files.object" foreign key (store, key) references appdb.media_objects
);
create index "appdb.media_files.by_object" on appdb.media_files (store, key);
comment on table appdb.media_files is 'Names of objects. A name keeps its object; another put under the name gives it another object.';
