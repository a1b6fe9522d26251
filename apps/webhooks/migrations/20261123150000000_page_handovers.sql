-- Up Migration

-- What a form hands to the page that it leads to: a new secret, or what was typed and why it was refused. Sealed, and
-- deleted when the page is opened (decision 0214).
create table page_handovers (
  id uuid primary key,
  session_hash bytea not null references login_sessions (id_hash) on update cascade on delete cascade,
  key_id text not null,
  ciphertext bytea not null check (octet_length(ciphertext) <= 131072),
  expires_at timestamptz not null default now() + interval '5 minutes'
);

create index page_handovers_session_idx on page_handovers (session_hash);
create index page_handovers_expires_at_idx on page_handovers (expires_at);
