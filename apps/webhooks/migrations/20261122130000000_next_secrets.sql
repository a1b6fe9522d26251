-- Up Migration

-- The secret that follows the current one, and from when. Nobody has to be there at that time: whoever reads the secrets
-- compares it with the clock of the database, so it holds after any restart and for all processes alike.
alter table webhook_endpoints
  add column next_secret_ciphertext bytea,
  add column next_secret_key_id text,
  add column next_secret_active_at timestamptz,
  add constraint next_secrets_are_whole check (
    (next_secret_ciphertext is null) = (next_secret_key_id is null)
    and (next_secret_ciphertext is null) = (next_secret_active_at is null)
  ),
  add constraint deleted_endpoints_keep_no_next_secret check (deleted_at is null or next_secret_ciphertext is null);
