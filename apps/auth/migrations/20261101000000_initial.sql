-- Up Migration

create table {{prefix}}users (
  id uuid primary key,
  aud text not null check (length(aud) <= 255),
  role text not null check (length(role) <= 255),
  email text check (email = lower(email) and length(email) <= 255),
  -- Digits only; after a soft delete a hash, like the email address.
  phone text check (length(phone) <= 64),
  encrypted_password text,
  email_confirmed_at timestamptz,
  phone_confirmed_at timestamptz,
  confirmed_at timestamptz generated always as (least(email_confirmed_at, phone_confirmed_at)) stored,
  invited_at timestamptz,
  confirmation_sent_at timestamptz,
  recovery_sent_at timestamptz,
  email_change text check (length(email_change) <= 255),
  email_change_sent_at timestamptz,
  -- 1 once one of the two addresses of a secure email change is confirmed.
  email_change_confirm_status smallint not null default 0 check (email_change_confirm_status in (0, 1)),
  phone_change text,
  phone_change_sent_at timestamptz,
  reauthentication_sent_at timestamptz,
  last_sign_in_at timestamptz,
  app_metadata jsonb not null default '{}' check (jsonb_typeof(app_metadata) = 'object'),
  user_metadata jsonb not null default '{}' check (jsonb_typeof(user_metadata) = 'object'),
  is_anonymous boolean not null default false,
  is_sso_user boolean not null default false,
  banned_until timestamptz,
  deleted_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null
);

create unique index {{prefix}}users_email_aud_key on {{prefix}}users (lower(email), aud) where not is_sso_user;
create unique index {{prefix}}users_phone_aud_key on {{prefix}}users (phone, aud) where phone is not null;
-- The admin list pages by age within one audience.
create index {{prefix}}users_aud_created_at_idx on {{prefix}}users (aud, created_at, id);
-- For the clean-up of abandoned anonymous users.
create index {{prefix}}users_is_anonymous_idx on {{prefix}}users (created_at) where is_anonymous;

-- Number of users per audience, so that lists need not count them. Sharded by connection, so that concurrent sign-ups
-- rarely wait for each other; the number is the sum of the shards.
create table {{prefix}}user_counts (
  aud text not null,
  shard smallint not null,
  users bigint not null,
  primary key (aud, shard)
);

create function {{prefix}}count_users() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into {{prefix}}user_counts as c (aud, shard, users)
      select aud, pg_backend_pid() % 32, count(*) from changed group by aud order by aud
      on conflict (aud, shard) do update set users = c.users + excluded.users;
  else
    insert into {{prefix}}user_counts as c (aud, shard, users)
      select aud, pg_backend_pid() % 32, -count(*) from changed group by aud order by aud
      on conflict (aud, shard) do update set users = c.users + excluded.users;
  end if;
  return null;
end
$$;

create trigger {{prefix}}users_counted_in after insert on {{prefix}}users
  referencing new table as changed for each statement execute function {{prefix}}count_users();
create trigger {{prefix}}users_counted_out after delete on {{prefix}}users
  referencing old table as changed for each statement execute function {{prefix}}count_users();

create table {{prefix}}identities (
  id uuid primary key,
  user_id uuid not null references {{prefix}}users on delete cascade,
  provider text not null,
  provider_id text not null,
  identity_data jsonb not null check (jsonb_typeof(identity_data) = 'object'),
  email text generated always as (lower(identity_data ->> 'email')) stored,
  last_sign_in_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint {{prefix}}identities_provider_id_key unique (provider, provider_id)
);

create index {{prefix}}identities_user_id_idx on {{prefix}}identities (user_id);
create index {{prefix}}identities_email_idx on {{prefix}}identities (email);

create table {{prefix}}mfa_factors (
  id uuid primary key,
  user_id uuid not null references {{prefix}}users on delete cascade,
  friendly_name text not null default '' check (length(friendly_name) <= 255),
  factor_type text not null check (factor_type in ('totp', 'phone')),
  status text not null check (status in ('verified', 'unverified')),
  -- Encrypted; base32 inside.
  secret text,
  phone text,
  last_challenged_at timestamptz,
  -- The TOTP time step of the last accepted code, which is not accepted again.
  last_used_step bigint,
  created_at timestamptz not null,
  updated_at timestamptz not null
);

create unique index {{prefix}}mfa_factors_friendly_name_key
  on {{prefix}}mfa_factors (user_id, friendly_name) where friendly_name <> '';
create index {{prefix}}mfa_factors_user_id_idx on {{prefix}}mfa_factors (user_id);

-- The clean-up of factors that were never verified.
create index {{prefix}}mfa_factors_unverified_idx on {{prefix}}mfa_factors (created_at) where status = 'unverified';

create table {{prefix}}mfa_challenges (
  id uuid primary key,
  factor_id uuid not null references {{prefix}}mfa_factors on delete cascade,
  ip_address text not null,
  otp_hash bytea,
  verified_at timestamptz,
  created_at timestamptz not null
);

create index {{prefix}}mfa_challenges_factor_id_idx on {{prefix}}mfa_challenges (factor_id);
create index {{prefix}}mfa_challenges_created_at_idx on {{prefix}}mfa_challenges (created_at);

create table {{prefix}}sessions (
  id uuid primary key,
  user_id uuid not null references {{prefix}}users on delete cascade,
  aal text not null check (aal in ('aal1', 'aal2')),
  factor_id uuid references {{prefix}}mfa_factors on delete set null,
  user_agent text,
  ip text,
  refreshed_at timestamptz,
  not_after timestamptz,
  tag text,
  -- Set at logout: no more refreshes, but access tokens already issued stay valid until they expire.
  revoked_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null
);

create index {{prefix}}sessions_user_id_idx on {{prefix}}sessions (user_id, created_at);
create index {{prefix}}sessions_factor_id_idx on {{prefix}}sessions (factor_id) where factor_id is not null;
create index {{prefix}}sessions_not_after_idx on {{prefix}}sessions (not_after) where not_after is not null;
create index {{prefix}}sessions_revoked_at_idx on {{prefix}}sessions (revoked_at) where revoked_at is not null;

create table {{prefix}}refresh_tokens (
  id uuid primary key,
  token_hash bytea not null check (length(token_hash) = 32),
  parent_id uuid,
  session_id uuid not null references {{prefix}}sessions on delete cascade,
  user_id uuid not null,
  revoked boolean not null default false,
  revoked_at timestamptz,
  created_at timestamptz not null,
  constraint {{prefix}}refresh_tokens_token_hash_key unique (token_hash),
  check (revoked = (revoked_at is not null))
);

-- At most one active token per session, enforced here as well as in the code.
create unique index {{prefix}}refresh_tokens_active_key on {{prefix}}refresh_tokens (session_id) where not revoked;
create index {{prefix}}refresh_tokens_session_id_idx on {{prefix}}refresh_tokens (session_id, revoked);
create index {{prefix}}refresh_tokens_revoked_at_idx on {{prefix}}refresh_tokens (revoked_at) where revoked;

create table {{prefix}}amr_claims (
  id uuid primary key default gen_random_uuid(),
  session_id uuid not null references {{prefix}}sessions on delete cascade,
  authentication_method text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint {{prefix}}amr_claims_session_method_key unique (session_id, authentication_method)
);

create table {{prefix}}one_time_tokens (
  id uuid primary key,
  user_id uuid not null references {{prefix}}users on delete cascade,
  token_type text not null check (
    token_type in (
      'confirmation', 'recovery', 'email_change_current', 'email_change_new', 'phone_change', 'reauthentication'
    )
  ),
  link_hash bytea check (length(link_hash) = 32),
  otp_hash bytea not null check (length(otp_hash) = 32),
  -- The address that the secrets were sent to.
  relates_to text not null,
  flow text not null check (flow in ('implicit', 'pkce')),
  attempts smallint not null default 0,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint {{prefix}}one_time_tokens_slot_key unique (user_id, token_type)
);

create unique index {{prefix}}one_time_tokens_link_hash_key on {{prefix}}one_time_tokens (link_hash);
-- Codes are looked up by the address they went to.
create index {{prefix}}one_time_tokens_relates_to_idx on {{prefix}}one_time_tokens (relates_to);

create table {{prefix}}flow_state (
  id uuid primary key,
  user_id uuid references {{prefix}}users on delete cascade,
  auth_code_hash bytea check (length(auth_code_hash) = 32),
  code_challenge text,
  code_challenge_method text check (code_challenge_method in ('s256', 'plain')),
  provider_type text not null,
  authentication_method text not null,
  -- Encrypted.
  provider_access_token text,
  provider_refresh_token text,
  provider_secret text,
  referrer text,
  invite_token_hash bytea,
  linking_target_id uuid references {{prefix}}users on delete cascade,
  email_optional boolean not null default false,
  auth_code_issued_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  check ((code_challenge is null) = (code_challenge_method is null))
);

create unique index {{prefix}}flow_state_auth_code_hash_key on {{prefix}}flow_state (auth_code_hash);
create index {{prefix}}flow_state_user_idx
  on {{prefix}}flow_state (user_id, authentication_method, created_at);
create index {{prefix}}flow_state_created_at_idx on {{prefix}}flow_state (created_at);
create index {{prefix}}flow_state_linking_target_idx
  on {{prefix}}flow_state (linking_target_id) where linking_target_id is not null;

create table {{prefix}}audit_log_entries (
  id uuid primary key default gen_random_uuid(),
  payload jsonb not null,
  ip_address text not null,
  created_at timestamptz not null
);

create index {{prefix}}audit_log_entries_created_idx on {{prefix}}audit_log_entries (created_at);
