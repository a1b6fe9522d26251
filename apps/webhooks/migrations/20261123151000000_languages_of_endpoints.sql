-- Up Migration

-- The language of the page on which the owner last saved the endpoint; null for one that only programs have touched. Emails
-- about it speak this language unless the account says otherwise (decision 0209).
alter table webhook_endpoints add column language text check (length(language) between 2 and 8);
