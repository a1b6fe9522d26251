-- Up Migration

-- The row remembers when each of the newest refresh tokens was superseded, the last one first: by an exchange, and by the upgrades that
-- followed it. An upgrade advances the session of a client that presents no token, and several may follow one another, so whoever
-- presents one of these tokens in time gets the newest child.
alter table {{prefix}}sessions
  add column superseded_at timestamptz[],
  drop column upgraded_from,
  drop column upgraded_from_at;
