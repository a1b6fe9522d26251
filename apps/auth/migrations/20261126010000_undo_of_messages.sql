-- Up Migration

-- What to undo when the message is given up, in ids only: it must be known also when the payload cannot be opened, because
-- the secret was changed while it waited. Null where nothing depends on the message.
alter table {{prefix}}outbox add column undo jsonb;
