-- Up Migration

-- The session at the identity server that a browser signed in with (decision 0141); null where its JWT names none.
alter table login_sessions add column identity_session_id uuid;
create index login_sessions_identity_session_idx on login_sessions (identity_session_id)
  where identity_session_id is not null;

-- Sessions that are over at the identity server. It may say so before the sign-in they were used for is written, so they are
-- kept for longer than a browser session lives. Nothing here says whose they were.
create table ended_identity_sessions (
  id uuid primary key,
  ended_at timestamptz not null default now()
);
create index ended_identity_sessions_ended_idx on ended_identity_sessions (ended_at);
