-- Up Migration

-- Keys that the service makes to sign access tokens, unless AUTH_JWT_KEYS provides them. A key signs from activates_at
-- to superseded_at, when the next one takes over. The private key is sealed with a key derived from
-- AUTH_JWT_SECRET, and the public half is computed from the private key, so write access to this table does not suffice to
-- add a trusted key. token_seconds is the longest lifetime of any token signed with the key.
create table {{prefix}}signing_keys (
  kid text primary key check (length(kid) between 1 and 255),
  alg text not null check (alg in ('RS256', 'ES256', 'EdDSA')),
  sealed_key text,
  token_seconds integer not null check (token_seconds > 0),
  created_at timestamptz not null,
  activates_at timestamptz not null check (activates_at >= created_at),
  superseded_at timestamptz check (superseded_at >= activates_at),
  retired_at timestamptz,
  -- A retired key is gone: not even a backup made later can sign with it.
  check ((retired_at is null) = (sealed_key is not null))
);
