-- Up Migration

-- True while a message waits behind another one of the same recipient, as account events already did: a claim reads only the
-- messages in front, so what one recipient has waiting costs others nothing. The previous version of the code inserts false, and
-- claims by order and time as before.
alter table {{prefix}}outbox add column behind boolean not null default false;

drop index {{prefix}}outbox_due_idx;
-- The claim of the sender.
create index {{prefix}}outbox_due_idx on {{prefix}}outbox (kind, next_attempt_at) where not behind;
-- The next message of a recipient to put in front.
create index {{prefix}}outbox_behind_idx on {{prefix}}outbox (kind, recipient, position) where behind;

create or replace function {{prefix}}tell_account_event(account uuid, event text, decided_at timestamptz, details jsonb)
returns void language sql as $$
  -- As `OutboxStore.insert`, but an event waits behind any other, also behind one that is being retried.
  with other as (
    select from {{prefix}}outbox
    where kind = 'account_event' and recipient = sha256(convert_to(account::text, 'UTF8'))
    order by position desc limit 1 for key share skip locked
  )
  insert into {{prefix}}outbox (id, kind, recipient, payload, next_attempt_at, created_at, behind)
  values (
    gen_random_uuid(), 'account_event', sha256(convert_to(account::text, 'UTF8')),
    jsonb_build_object(
      'type', event,
      'timestamp', to_char(decided_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
      'data', jsonb_build_object('user_id', account) || details
    )::text,
    now(), now(), exists (select from other)
  )
$$;

drop trigger {{prefix}}outbox_event_done on {{prefix}}outbox;
drop function {{prefix}}release_next_event();

-- A trigger, so that a message gets its turn no matter what deletes the one in front of it. Two transactions that delete two messages
-- in front both choose the same one behind them, and one of them puts it there.
create function {{prefix}}outbox_next_in_front() returns trigger language plpgsql as $$
begin
  update {{prefix}}outbox set behind = false
  where behind and id = (
    select id from {{prefix}}outbox where behind and kind = old.kind and recipient = old.recipient
    order by position limit 1
  );
  return null;
end
$$;

create trigger {{prefix}}outbox_done after delete on {{prefix}}outbox for each row
  execute function {{prefix}}outbox_next_in_front();

update {{prefix}}outbox set behind = true, next_attempt_at = created_at
where kind = 'account_event' and next_attempt_at = 'infinity';
