-- Up Migration

-- Wrong codes, so that a factor takes only so many in the life of a challenge.
alter table {{prefix}}mfa_challenges add column attempts smallint not null default 0;
