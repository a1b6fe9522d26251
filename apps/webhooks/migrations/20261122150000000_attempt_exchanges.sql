-- Up Migration

-- What an attempt met, for the owner of the endpoint. `exchange` is JSON because it is one value on the hot path and is only ever
-- shown: milliseconds of the phases (dns, connect, tls, first_byte), as far as they ended, and the address (peer).
alter table webhook_attempts
  add column exchange json check (octet_length(exchange::text) <= 1000),
  -- The beginning of the response, as text without control characters. May repeat what was sent, so it goes with the recording.
  add column answer text check (octet_length(answer) <= 16384);
