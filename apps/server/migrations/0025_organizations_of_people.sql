-- Who made an organization: a person may make so many. A column that is null, for those whose maker nobody wrote down: their owners count
-- as makers. No other lock than that of a new column.
alter table control.organizations add column created_by text references identity.users (id) on delete set null;
create index organizations_created_by on control.organizations (created_by);
