-- Up Migration

-- User JWTs that the identity server issued before the account was revoked here no longer open a session or create a
-- personal token. They live for about an hour, and a row is needed for as long.
create table account_cutoffs (
  account_id uuid primary key,
  revoked_at timestamptz not null default now()
);

create index account_cutoffs_revoked_at_idx on account_cutoffs (revoked_at);

-- Tokens revoked for inactivity stay in the account's list until the owner removes them.
create index personal_tokens_listed_idx on personal_tokens (account_id, id desc)
  where revoked_at is null or revoke_reason = 'inactive';
