-- Up Migration

-- The session of the pages that this one was opened beside (decision 0181); null for one that was signed in by itself.
alter table {{prefix}}sessions add column sign_in_id uuid;
