-- Second factors of accounts. New tables only.
create table identity.second_factors (
  user_id text primary key references identity.users (id) on delete cascade,
  master_key_id text not null,
  -- the secret of the authenticator app, encrypted with the master key
  wrapped bytea not null,
  -- null until the first code was confirmed
  enabled_at timestamptz,
  -- the last step whose code was used: a code works once
  last_step bigint not null default 0,
  created_at timestamptz not null default now()
);

create table identity.recovery_codes (
  user_id text not null references identity.second_factors (user_id) on delete cascade,
  code_hash bytea not null,
  primary key (user_id, code_hash)
);
