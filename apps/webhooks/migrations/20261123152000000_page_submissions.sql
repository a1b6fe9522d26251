-- Up Migration

-- Forms of the portal that were sent, by a keyed hash of the form and its fields: a second press of the button finds the first
-- (decision 0229). The result is sealed, and null while the first is under way.
create table page_submissions (
  session_hash bytea not null references login_sessions (id_hash) on update cascade on delete cascade,
  key bytea not null check (octet_length(key) = 32),
  claimed_at timestamptz not null default clock_timestamp(),
  key_id text,
  ciphertext bytea check (octet_length(ciphertext) <= 131072),
  done_at timestamptz,
  primary key (session_hash, key),
  constraint done_submissions_have_a_result check (
    (done_at is null) = (ciphertext is null) and (ciphertext is null) = (key_id is null)
  )
);
create index page_submissions_claimed_idx on page_submissions (claimed_at);
