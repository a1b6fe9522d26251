-- Up Migration

-- Removing an account at a provider ends the sessions that it opened.
alter table {{prefix}}sessions
  drop constraint {{prefix}}sessions_revoked_reason_check,
  add constraint {{prefix}}sessions_revoked_reason_check check (
    revoked_reason in (
      'logout', 'reuse', 'single_session', 'too_many', 'ban', 'deletion', 'deletion_requested', 'password_changed',
      'password_recovered', 'factor_verified', 'address_proved', 'admin', 'passkey_removed', 'identity_removed'
    )
  ) not valid;
