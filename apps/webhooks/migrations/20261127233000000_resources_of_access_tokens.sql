-- Up Migration

-- The resources that its request named, if they are not all of the grant's (RFC 8707 section 2.2). Null for all of them.
alter table oauth_access_tokens add column resources text[];
