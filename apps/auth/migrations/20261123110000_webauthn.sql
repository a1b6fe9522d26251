-- Up Migration

-- Public keys of authenticators: passkeys, which sign in by themselves, and second factors, which belong to a factor.
create table {{prefix}}webauthn_credentials (
  id uuid primary key,
  user_id uuid not null references {{prefix}}users on delete cascade,
  -- Null for a passkey.
  factor_id uuid references {{prefix}}mfa_factors on delete cascade,
  credential_id bytea not null check (length(credential_id) between 1 and 1023),
  public_key bytea not null,
  -- What the authenticator counted at its last use; one that does not count stays at 0.
  sign_count bigint not null check (sign_count >= 0),
  transports text[] not null,
  friendly_name text not null check (length(friendly_name) <= 120),
  created_at timestamptz not null,
  last_used_at timestamptz,
  constraint {{prefix}}webauthn_credentials_credential_id_key unique (credential_id)
);

create index {{prefix}}webauthn_credentials_user_id_idx on {{prefix}}webauthn_credentials (user_id);
create unique index {{prefix}}webauthn_credentials_factor_id_key
  on {{prefix}}webauthn_credentials (factor_id) where factor_id is not null;

-- A challenge is computed from its id, so only those that were answered need a row, until they expire anyway.
create table {{prefix}}webauthn_spent_challenges (
  id uuid primary key,
  expires_at timestamptz not null
);

create index {{prefix}}webauthn_spent_challenges_expires_at_idx on {{prefix}}webauthn_spent_challenges (expires_at);

-- The passkey that opened a session. No reference: the sessions of a removed passkey end, and keep their history.
alter table {{prefix}}sessions add column passkey_id uuid;

-- Checked for new rows only: the old ones met a stricter rule.
alter table {{prefix}}mfa_factors
  drop constraint {{prefix}}mfa_factors_factor_type_check,
  add constraint {{prefix}}mfa_factors_factor_type_check
    check (factor_type in ('totp', 'phone', 'webauthn')) not valid;
alter table {{prefix}}sessions
  drop constraint {{prefix}}sessions_revoked_reason_check,
  add constraint {{prefix}}sessions_revoked_reason_check check (
    revoked_reason in (
      'logout', 'reuse', 'single_session', 'ban', 'deletion', 'password_changed', 'password_recovered', 'factor_verified',
      'address_proved', 'admin', 'passkey_removed'
    )
  ) not valid;
