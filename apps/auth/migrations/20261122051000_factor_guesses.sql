-- Up Migration

-- Wrong codes count for the factor and not for the challenge, in sign_in_attempts.
alter table {{prefix}}mfa_challenges drop column attempts;
