-- Up Migration

-- A refresh token is a statement about its session: the id, a counter, and a MAC of both under a key of the server and
-- the salt of the session, so a session is a single row. Tokens issued before this migration cannot be told apart from
-- guesses, so their sessions are deleted.
delete from {{prefix}}sessions;
drop table {{prefix}}refresh_tokens;
drop table {{prefix}}amr_claims;

alter table {{prefix}}sessions
  -- Of the newest refresh token; refreshed_at is when it was made, null for the first.
  add column refresh_counter integer not null default 0 check (refresh_counter >= 0),
  add column refresh_salt bytea not null check (length(refresh_salt) = 32),
  -- How the user proved who they are, newest first: [{"method", "at"}].
  add column amr jsonb not null check (jsonb_typeof(amr) = 'array'),
  -- Why the session ended. Apart from not_after and the session limits, a session ends only through revoked_at.
  add column revoked_reason text check (
    revoked_reason in (
      'logout', 'reuse', 'single_session', 'ban', 'deletion', 'password_changed', 'password_recovered', 'factor_verified',
      'address_proved', 'admin'
    )
  ),
  add check ((revoked_at is null) = (revoked_reason is null));

-- Linking a sign-in method takes effect only while the session that asked for it is still open.
delete from {{prefix}}flow_state where linking_target_id is not null;
alter table {{prefix}}flow_state
  add column linking_session_id uuid references {{prefix}}sessions on delete cascade,
  add check ((linking_target_id is null) = (linking_session_id is null));
-- For the cascade.
create index {{prefix}}flow_state_linking_session_idx
  on {{prefix}}flow_state (linking_session_id) where linking_session_id is not null;
