-- Up Migration

-- Keys that the service makes to sign access tokens, unless AUTH_JWT_KEYS gives it some. A key signs from activates_at
-- to superseded_at, the moment at which the next one takes over. The private key is sealed with a key that follows from
-- AUTH_JWT_SECRET, and the public half is computed from it: whoever can write to this table cannot add a key that is
-- trusted. token_seconds is the longest life of a token that any process may have signed with the key.
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
