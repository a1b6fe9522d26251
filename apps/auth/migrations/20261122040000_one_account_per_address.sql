-- Up Migration

-- One address is one account, whatever audience a request names: an audience is a property of the account.
drop index {{prefix}}users_email_aud_key;
drop index {{prefix}}users_phone_aud_key;
create unique index {{prefix}}users_email_key on {{prefix}}users (lower(email)) where not is_sso_user;
create unique index {{prefix}}users_phone_key on {{prefix}}users (phone) where phone is not null;
