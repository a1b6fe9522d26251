-- Up Migration

-- The successor of a refresh token follows from a key of the service, this salt and the token (decision 0180): neither
-- the key nor a dump of the tables is enough to make one.
alter table oauth_grants add column refresh_salt uuid not null default gen_random_uuid();
