-- Up Migration

-- Of very many open sessions of one user, those used longest ago end.
alter table {{prefix}}sessions
  drop constraint {{prefix}}sessions_revoked_reason_check,
  add constraint {{prefix}}sessions_revoked_reason_check check (
    revoked_reason in (
      'logout', 'reuse', 'single_session', 'too_many', 'ban', 'deletion', 'deletion_requested', 'password_changed',
      'password_recovered', 'factor_verified', 'address_proved', 'admin', 'passkey_removed'
    )
  ) not valid;

-- For everything that lists or ends the open sessions of one user, who may have any number of ended ones.
create index {{prefix}}sessions_open_idx on {{prefix}}sessions (user_id) where revoked_at is null;
