-- Answers of requests that came with an idempotency key. Takes no lock.
create table appdb.requests (
  -- The first half of the sha256 of scope and key: short and of one size, because every such insert writes it twice.
  id uuid constraint "appdb.requests.id" primary key,
  -- Target, service, route and caller.
  scope text not null,
  key text not null,
  -- The same of what the request said; another one with its key is refused.
  digest uuid not null,
  status smallint not null,
  -- Null: those of JSON.
  headers json,
  body text not null,
  -- Values for the holes in the body, as PostgreSQL writes them; null: the body has none.
  made text[],
  expires_at timestamptz not null
);
-- Rows expire in about the order in which they were written, and are looked through once an hour.
create index requests_expiry on appdb.requests using brin (expires_at);
