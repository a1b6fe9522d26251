-- Up Migration

-- The audience that a sign-up or an administrator named; null for the default. A user's own is settled by whoever proves the
-- address: what the first sign-up named may be a stranger's.
alter table {{prefix}}pending_sign_ups add column aud text check (length(aud) <= 255);
