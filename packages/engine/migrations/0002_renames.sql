-- The previous names that a file gave when it was last applied: a rename is made once, and so is a swap of two names. Locks two small
-- tables for a moment.
alter table appdb.tables add column renamed_from text;
alter table appdb.columns add column renamed_from text;
