-- Up Migration

-- When a message was last asked for at an address that gets none, because nobody has it or nothing is to be confirmed.
-- The next request is refused as it would be for a user, so that the interval tells nobody who has an account. The id is
-- a keyed hash of what was asked for and the address.
create table {{prefix}}unsent_messages (
  id bytea primary key check (length(id) = 32),
  asked_at timestamptz not null
);

create index {{prefix}}unsent_messages_asked_at_idx on {{prefix}}unsent_messages (asked_at);
