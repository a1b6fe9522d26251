-- Up Migration

-- An upgrade advances the session of a client that presents no refresh token. Until the next exchange the row remembers which token was
-- exchanged last before it and when, so that whoever repeats that exchange in time gets the upgraded child.
alter table {{prefix}}sessions
  add column upgraded_from int,
  add column upgraded_from_at timestamptz;
