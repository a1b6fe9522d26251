-- Up Migration

-- Records every message requested for an address, whether or not the address has an account.
alter table {{prefix}}unsent_messages rename to {{prefix}}message_requests;
alter index {{prefix}}unsent_messages_pkey rename to {{prefix}}message_requests_pkey;
alter index {{prefix}}unsent_messages_asked_at_idx rename to {{prefix}}message_requests_asked_at_idx;
