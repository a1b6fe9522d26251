-- Up Migration

-- The clean-up of users who never confirmed an address.
create index {{prefix}}users_never_confirmed_idx on {{prefix}}users (confirmation_sent_at)
  where confirmed_at is null and last_sign_in_at is null and deleted_at is null;
