-- Up Migration

-- Codes for people who lost their second factor, as keyed hashes: each works once, and a new set replaces the old one.
create table {{prefix}}mfa_recovery_codes (
  user_id uuid not null references {{prefix}}users on delete cascade,
  code_hash bytea not null check (length(code_hash) = 32),
  created_at timestamptz not null,
  used_at timestamptz check (used_at >= created_at),
  constraint {{prefix}}mfa_recovery_codes_pkey primary key (user_id, code_hash)
);
