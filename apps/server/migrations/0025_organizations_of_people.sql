-- The creator of an organization: a person may create a limited number. Null if the creator is unknown; its owners
-- then count as creators. Only takes the lock of a new column.
alter table control.organizations add column created_by text references identity.users (id) on delete set null;
create index organizations_created_by on control.organizations (created_by);
