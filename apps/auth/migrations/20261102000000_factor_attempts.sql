-- Up Migration

-- Number of wrong codes: limits the guesses within the lifetime of a challenge.
alter table {{prefix}}mfa_challenges add column attempts smallint not null default 0;
