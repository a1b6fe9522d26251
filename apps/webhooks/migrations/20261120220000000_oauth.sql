-- Up Migration

-- OAuth 2.1 clients, grants, codes and tokens; sign-in sessions; personal tokens.
-- Secrets are stored as SHA-256 digests (bytea, 32 bytes): a dump of these tables grants no access.
-- account_id is the identity server's user id. Its users live in another database, so it has no foreign key.

create table oauth_clients (
  client_id text collate "C" primary key check (client_id ~ '^svcl_[0-9A-Za-z]{3,24}$'),
  secret_hash bytea check (octet_length(secret_hash) = 32),
  auth_method text not null check (auth_method in ('none', 'client_secret_basic', 'client_secret_post')),
  redirect_uris text[] not null check (cardinality(redirect_uris) between 1 and 10),
  grant_types text[] not null check (
    grant_types <@ array['authorization_code', 'refresh_token'] and 'authorization_code' = any (grant_types)
  ),
  response_types text[] not null check (response_types = array['code']),
  scope text not null check (scope <> ''),
  client_name text not null check (char_length(client_name) between 1 and 200),
  extra jsonb not null default '{}' check (jsonb_typeof(extra) = 'object'),
  first_party boolean not null default false,
  created_at timestamptz not null default now(),
  disabled_at timestamptz,
  last_used_at timestamptz,
  constraint public_clients_have_no_secret check ((auth_method = 'none') = (secret_hash is null))
);

-- Housekeeping: clients that never completed an authorization, oldest first.
create index oauth_clients_unused_idx on oauth_clients (created_at) where last_used_at is null and not first_party;

-- The command-line tool. Nobody can register scope tokens:manage, so this one is here from the start.
insert into oauth_clients
  (client_id, auth_method, redirect_uris, grant_types, response_types, scope, client_name, first_party)
values (
  'svcl_cli', 'none', array['http://127.0.0.1/callback', 'http://[::1]/callback'],
  array['authorization_code', 'refresh_token'], array['code'], 'mcp:connect tokens:manage', 'Command-line tool', true
);

create table login_sessions (
  id_hash bytea primary key check (octet_length(id_hash) = 32),
  account_id uuid,
  email text,
  csrf_key bytea not null check (octet_length(csrf_key) = 32),
  created_at timestamptz not null default now(),
  signed_in_at timestamptz,
  last_seen_at timestamptz not null default now(),
  expires_at timestamptz not null,
  constraint session_ends_after_it_began check (expires_at > created_at),
  constraint signed_in_sessions_have_an_account check ((account_id is null) = (signed_in_at is null))
);

-- Revoking an account; the clean-up job.
create index login_sessions_account_idx on login_sessions (account_id) where account_id is not null;
create index login_sessions_expires_at_idx on login_sessions (expires_at);

create table oauth_authorizations (
  txn_hash bytea primary key check (octet_length(txn_hash) = 32),
  -- Signing in gives the session a new id; its pending authorizations follow, and end with the session.
  session_hash bytea not null references login_sessions (id_hash) on update cascade on delete cascade,
  client_id text collate "C" not null references oauth_clients (client_id) on delete cascade,
  redirect_uri text not null,
  redirect_uri_sent boolean not null,
  state text check (octet_length(state) <= 8192),
  scope text not null,
  resources text[] not null default '{}',
  code_challenge text not null check (code_challenge ~ '^[A-Za-z0-9_-]{43}$'),
  -- prompt=login or select_account: a sign-in from before created_at does not count.
  fresh_login boolean not null default false,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  decided_at timestamptz,
  constraint authorization_ends_after_it_began check (expires_at > created_at)
);

create index oauth_authorizations_session_idx on oauth_authorizations (session_hash);
create index oauth_authorizations_client_idx on oauth_authorizations (client_id);
create index oauth_authorizations_expires_at_idx on oauth_authorizations (expires_at);

create table oauth_grants (
  id uuid primary key default gen_random_uuid(),
  account_id uuid not null,
  client_id text collate "C" not null references oauth_clients (client_id) on delete cascade,
  scope text not null,
  resources text[] not null default '{}',
  email text not null default '',
  created_at timestamptz not null default now(),
  revoked_at timestamptz,
  revoke_reason text,
  constraint revocations_have_a_reason check ((revoked_at is null) = (revoke_reason is null))
);

-- Revoking an account; deleting a client; the clean-up job (dead for 30 days).
create index oauth_grants_account_idx on oauth_grants (account_id) where revoked_at is null;
create index oauth_grants_client_idx on oauth_grants (client_id);
create index oauth_grants_revoked_at_idx on oauth_grants (revoked_at) where revoked_at is not null;
create index oauth_grants_created_at_idx on oauth_grants (created_at);

create table oauth_codes (
  code_hash bytea primary key check (octet_length(code_hash) = 32),
  grant_id uuid not null references oauth_grants (id) on delete cascade,
  client_id text collate "C" not null references oauth_clients (client_id) on delete cascade,
  redirect_uri text not null,
  redirect_uri_sent boolean not null,
  code_challenge text not null check (code_challenge ~ '^[A-Za-z0-9_-]{43}$'),
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  -- Used codes stay as long as their grant, so that a replay is recognised and revokes it (RFC 6749 section 4.1.2).
  used_at timestamptz,
  constraint code_ends_after_it_began check (expires_at > created_at)
);

create index oauth_codes_grant_idx on oauth_codes (grant_id);
create index oauth_codes_client_idx on oauth_codes (client_id);
create index oauth_codes_unused_expires_at_idx on oauth_codes (expires_at) where used_at is null;

create table oauth_access_tokens (
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  grant_id uuid not null references oauth_grants (id) on delete cascade,
  account_id uuid not null,
  scope text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  revoked_at timestamptz,
  constraint access_token_ends_after_it_began check (expires_at > created_at)
);

create index oauth_access_tokens_grant_idx on oauth_access_tokens (grant_id);
create index oauth_access_tokens_expires_at_idx on oauth_access_tokens (expires_at);

create table oauth_refresh_tokens (
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  grant_id uuid not null references oauth_grants (id) on delete cascade,
  scope text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  rotated_at timestamptz,
  revoked_at timestamptz,
  constraint refresh_token_ends_after_it_began check (expires_at > created_at)
);

create index oauth_refresh_tokens_grant_idx on oauth_refresh_tokens (grant_id);
create index oauth_refresh_tokens_expires_at_idx on oauth_refresh_tokens (expires_at);

create table personal_tokens (
  id bigint generated always as identity primary key,
  account_id uuid not null,
  name text not null check (char_length(name) between 1 and 100),
  token_hash bytea not null unique check (octet_length(token_hash) = 32),
  hint text not null check (char_length(hint) between 1 and 16),
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  last_used_at timestamptz,
  revoked_at timestamptz,
  revoke_reason text,
  constraint personal_tokens_last_at_most_a_year
    check (expires_at > created_at and expires_at <= created_at + interval '366 days'),
  constraint personal_token_revocations_have_a_reason check ((revoked_at is null) = (revoke_reason is null))
);

-- Listing and counting the tokens of an account; the job that revokes idle ones.
create index personal_tokens_account_idx on personal_tokens (account_id, id desc) where revoked_at is null;
create index personal_tokens_idle_idx on personal_tokens (coalesce(last_used_at, created_at)) where revoked_at is null;
