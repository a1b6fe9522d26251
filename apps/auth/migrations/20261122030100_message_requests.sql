-- Up Migration

-- Every message that is asked for at an address is stamped here, whether or not somebody has the address.
alter table {{prefix}}unsent_messages rename to {{prefix}}message_requests;
alter index {{prefix}}unsent_messages_pkey rename to {{prefix}}message_requests_pkey;
alter index {{prefix}}unsent_messages_asked_at_idx rename to {{prefix}}message_requests_asked_at_idx;
