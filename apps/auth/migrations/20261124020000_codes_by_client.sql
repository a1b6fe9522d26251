-- Up Migration

-- A typed code is compared with few of an address: the newest of each client, also where only its owner may request one. A
-- keyed hash of the client; null for administrators.
alter table {{prefix}}one_time_tokens
  add column requested_from bytea check (length(requested_from) = 32);

drop index {{prefix}}one_time_tokens_otp_hash_idx;
create index {{prefix}}one_time_tokens_relates_to_idx on {{prefix}}one_time_tokens (relates_to);
