-- Keeps a statement from being computed in parallel: a sum of Floats depends on the order of its terms. Takes no lock.
create function appdb.in_order(value double precision) returns double precision
language sql immutable parallel unsafe return value;
