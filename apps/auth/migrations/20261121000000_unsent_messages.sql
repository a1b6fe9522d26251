-- Up Migration

-- When a message was last requested for an address that gets none: it has no account, or there is nothing to confirm.
-- The next request is refused as it would be for a user, so that the interval does not reveal who has an account. The id is
-- a keyed hash of the kind of message and the address.
create table {{prefix}}unsent_messages (
  id bytea primary key check (length(id) = 32),
  asked_at timestamptz not null
);

create index {{prefix}}unsent_messages_asked_at_idx on {{prefix}}unsent_messages (asked_at);
