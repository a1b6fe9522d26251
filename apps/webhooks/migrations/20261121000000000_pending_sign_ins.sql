-- Up Migration

-- Between password and second factor a session holds the user's JWT, encrypted like webhook secrets and bound to the
-- session's id, so it does not decrypt in any other row.
alter table login_sessions
  add column pending_ciphertext bytea,
  add column pending_key_id text,
  add constraint pending_sign_ins_are_whole check ((pending_ciphertext is null) = (pending_key_id is null)),
  add constraint pending_sign_ins_have_no_account check (pending_ciphertext is null or account_id is null);
