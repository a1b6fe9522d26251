-- Up Migration

-- Whether the sign-in pages opened it for an application, beside one of their own (decision 0181).
alter table {{prefix}}sessions add column handed_over boolean not null default false;
update {{prefix}}sessions set handed_over = true where sign_in_id is not null;
