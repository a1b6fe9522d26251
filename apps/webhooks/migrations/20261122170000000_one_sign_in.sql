-- Up Migration

-- Passwords and second factors are asked for by the identity server alone, so no sign-in waits here half done.
alter table login_sessions
  drop column pending_ciphertext,
  drop column pending_key_id,
  -- When the person proved who they are, by the identity server's clock; max_age and prompt=login look at it.
  add column proved_at timestamptz;
update login_sessions set proved_at = authenticated_at;

alter table oauth_authorizations
  -- A proof that is older does not do for this request.
  add column proved_after timestamptz;
