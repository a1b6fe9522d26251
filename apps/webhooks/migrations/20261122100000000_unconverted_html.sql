-- Up Migration

-- Why an event carries HTML although it should be Markdown: for operators, when a receiver asks.
alter table webhook_events
  add column unconverted text check (char_length(unconverted) between 1 and 64);
