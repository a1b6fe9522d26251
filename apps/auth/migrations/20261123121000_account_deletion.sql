-- Up Migration

-- When an account that its owner wants deleted goes; until then signing in can only keep it.
alter table {{prefix}}users add column deletion_due_at timestamptz;
create index {{prefix}}users_deletion_due_at_idx on {{prefix}}users (deletion_due_at) where deletion_due_at is not null;

alter table {{prefix}}sessions
  drop constraint {{prefix}}sessions_revoked_reason_check,
  add constraint {{prefix}}sessions_revoked_reason_check check (
    revoked_reason in (
      'logout', 'reuse', 'single_session', 'ban', 'deletion', 'deletion_requested', 'password_changed',
      'password_recovered', 'factor_verified', 'address_proved', 'admin', 'passkey_removed'
    )
  ) not valid;

-- For the recent entries about one account: administrators and the service name it in the traits.
create index {{prefix}}audit_log_entries_account_idx on {{prefix}}audit_log_entries (
  (coalesce(payload -> 'traits' ->> 'user_id', payload ->> 'actor_id')), created_at
);
