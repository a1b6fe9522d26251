-- Up Migration

-- What somebody supplied at sign-up without having proved the address. It does not affect the account until the
-- link or code of this sign-up is used; any other proof of the address deletes it.
create table {{prefix}}pending_sign_ups (
  id uuid primary key,
  user_id uuid not null references {{prefix}}users on delete cascade,
  -- What an administrator set takes effect no matter who proves the address, or how.
  origin text not null check (origin in ('self', 'administrator')),
  password_hash text,
  user_metadata jsonb not null default '{}' check (jsonb_typeof(user_metadata) = 'object'),
  -- The account at a provider that did not vouch for the address.
  identity_id uuid references {{prefix}}identities on delete cascade,
  -- Somebody else has tried to sign up since: a confirmation sent again could belong to either sign-up.
  contested boolean not null default false,
  created_at timestamptz not null
);

create index {{prefix}}pending_sign_ups_user_idx on {{prefix}}pending_sign_ups (user_id, created_at);
create unique index {{prefix}}pending_sign_ups_administrator_key
  on {{prefix}}pending_sign_ups (user_id) where origin = 'administrator';
-- For the cascade.
create index {{prefix}}pending_sign_ups_identity_idx
  on {{prefix}}pending_sign_ups (identity_id) where identity_id is not null;

-- The password of an unproved address was set by the first person to sign up with it, who may not be the owner.
update {{prefix}}users set encrypted_password = null
  where confirmed_at is null and (email is not null or phone is not null);
alter table {{prefix}}users add constraint {{prefix}}users_password_needs_proof
  check (encrypted_password is null or confirmed_at is not null or (email is null and phone is null));

-- Existing tokens do not record how they were sent.
delete from {{prefix}}one_time_tokens;
alter table {{prefix}}one_time_tokens
  drop column token_type,
  drop column flow,
  drop column attempts,
  add column token_type text not null check (
    case
      when token_type in ('invite', 'recovery', 'email_change_current', 'email_change_new') then channel = 'email'
      when token_type in ('sms_sign_in', 'phone_change') then channel = 'phone'
      else token_type in ('confirmation', 'reauthentication')
    end
  ),
  -- How the secrets were sent; they prove nothing about any other channel.
  add column channel text not null check (channel in ('email', 'phone')),
  -- Links are sent by email only.
  add check ((channel = 'email') = (link_hash is not null)),
  add column sign_up_id uuid references {{prefix}}pending_sign_ups on delete cascade,
  add check (sign_up_id is null or token_type in ('confirmation', 'invite')),
  -- Using the link requires the verifier of this challenge.
  add column code_challenge text,
  add column code_challenge_method text check (code_challenge_method in ('s256', 'plain')),
  add check ((code_challenge is null) = (code_challenge_method is null));

-- One live value for each purpose, and for each sign-up.
create unique index {{prefix}}one_time_tokens_slot_key
  on {{prefix}}one_time_tokens (user_id, token_type, sign_up_id) nulls not distinct;
create index {{prefix}}one_time_tokens_sign_up_idx
  on {{prefix}}one_time_tokens (sign_up_id) where sign_up_id is not null;
drop index {{prefix}}one_time_tokens_relates_to_idx;
create index {{prefix}}one_time_tokens_otp_hash_idx on {{prefix}}one_time_tokens (otp_hash);

-- Wrong codes per purpose and person; sending a new code does not reset them. The id is a keyed hash of the two.
create table {{prefix}}code_attempts (
  id bytea primary key check (length(id) = 32),
  attempts integer not null,
  window_ends_at timestamptz not null
);

create index {{prefix}}code_attempts_window_idx on {{prefix}}code_attempts (window_ends_at);
