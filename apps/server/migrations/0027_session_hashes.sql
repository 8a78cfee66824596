-- Sessions and device codes are stored as SHA-256 hashes in hex, so that a copy of the database cannot sign in.
-- Existing sessions and codes are hashed in place and stay valid. Both tables are locked while their few rows are
-- rewritten. `authenticated_at` is the last proof of identity in the session; for existing sessions, their start.
-- breaking: a previous server looks for the columns by their old names
alter table identity.sessions rename column token to token_hash;
alter table identity.sessions rename constraint sessions_token_key to sessions_token_hash_key;
update identity.sessions set token_hash = encode(sha256(convert_to(token_hash, 'UTF8')), 'hex');

alter table identity.sessions add column authenticated_at timestamptz not null default now();
update identity.sessions set authenticated_at = created_at;

alter table identity.device_codes rename column device_code to device_code_hash;
alter table identity.device_codes rename constraint device_codes_device_code_key to device_codes_device_code_hash_key;
update identity.device_codes set device_code_hash = encode(sha256(convert_to(device_code_hash, 'UTF8')), 'hex');
