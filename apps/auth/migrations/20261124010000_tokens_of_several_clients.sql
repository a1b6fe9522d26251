-- Up Migration

-- Where anyone may request a message, each client's has a token of its own: a stranger's request must not void the link
-- that the owner waits for. A keyed hash of the client; null for the first message of a sign-up or change, and where only
-- the owner or an administrator can request one.
alter table {{prefix}}one_time_tokens
  add column requested_by bytea check (length(requested_by) = 32);

drop index {{prefix}}one_time_tokens_slot_key;
create unique index {{prefix}}one_time_tokens_slot_key
  on {{prefix}}one_time_tokens (user_id, token_type, sign_up_id, requested_by) nulls not distinct;

-- The same hash: the sign-ups of one client make room for each other first.
alter table {{prefix}}pending_sign_ups
  add column requested_by bytea check (length(requested_by) = 32);

-- Which half is confirmed, not only that one is: 1 the new address, 2 the current one. Until now the half with a token left
-- was the other one.
alter table {{prefix}}users
  drop constraint {{prefix}}users_email_change_confirm_status_check,
  add check (email_change_confirm_status in (0, 1, 2));
update {{prefix}}users u set email_change_confirm_status = 2
  where email_change_confirm_status = 1 and exists (
    select 1 from {{prefix}}one_time_tokens where user_id = u.id and token_type = 'email_change_new');
