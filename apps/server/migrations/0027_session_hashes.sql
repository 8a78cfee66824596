-- Sessions and device codes are stored as SHA-256 hashes in hex: a copy of the database signs nobody in. Existing sessions and codes are
-- hashed in place and stay valid. Both tables are locked while their few rows are rewritten.
-- `authenticated_at` is when the session last proved its person; existing sessions proved it when they began.
-- breaking: a server of before looks for the columns by their previous names
alter table identity.sessions rename column token to token_hash;
alter table identity.sessions rename constraint sessions_token_key to sessions_token_hash_key;
update identity.sessions set token_hash = encode(sha256(convert_to(token_hash, 'UTF8')), 'hex');

alter table identity.sessions add column authenticated_at timestamptz not null default now();
update identity.sessions set authenticated_at = created_at;

alter table identity.device_codes rename column device_code to device_code_hash;
alter table identity.device_codes rename constraint device_codes_device_code_key to device_codes_device_code_hash_key;
update identity.device_codes set device_code_hash = encode(sha256(convert_to(device_code_hash, 'UTF8')), 'hex');
