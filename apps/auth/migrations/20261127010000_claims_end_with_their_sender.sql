-- Up Migration

-- Whose claim a message is, so that it ends with the process that made it: the key of an advisory lock that the sender holds while it
-- lives, and when the server started that has the lock. The attempt tells it from later claims, also of the previous version of the code,
-- which end with their time alone.
alter table {{prefix}}outbox
  add column claimed_by bigint,
  add column claimed_on timestamptz,
  add column claimed_attempt integer;

-- The claims that are under way.
create index {{prefix}}outbox_claimed_by_idx on {{prefix}}outbox (claimed_by) where claimed_by is not null;
