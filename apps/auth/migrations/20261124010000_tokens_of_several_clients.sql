-- Up Migration

-- Where anyone may request a message, each client's has a token of its own: a stranger's request must not void the link
-- that the owner waits for. A keyed hash of the client; null where only the owner or an administrator can request one.
alter table {{prefix}}one_time_tokens
  add column requested_by bytea check (length(requested_by) = 32);

drop index {{prefix}}one_time_tokens_slot_key;
create unique index {{prefix}}one_time_tokens_slot_key
  on {{prefix}}one_time_tokens (user_id, token_type, sign_up_id, requested_by) nulls not distinct;
