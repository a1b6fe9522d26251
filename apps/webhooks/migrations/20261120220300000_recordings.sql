-- Up Migration

-- A mirror of recordings. Only the internal API writes to it, always for a single account.
-- The three parts come and go independently (a transcript may arrive before its recording), so they do not refer to
-- one another.
create table recordings (
  account_id uuid not null,
  audio_id text not null check (char_length(audio_id) between 1 and 128),
  report_id text,
  status integer,
  title text,
  duration_ms bigint check (duration_ms between 0 and 9007199254740991),
  recorded_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (account_id, audio_id)
);

create table transcripts (
  account_id uuid not null,
  audio_id text not null check (char_length(audio_id) between 1 and 128),
  language text,
  text text not null,
  -- json and not jsonb: the members keep the order of the documented payload.
  segments json,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (account_id, audio_id)
);

create table summaries (
  account_id uuid not null,
  audio_id text not null check (char_length(audio_id) between 1 and 128),
  position integer not null check (position >= 0),
  label text not null,
  content text not null,
  format text not null,
  template_name text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (account_id, audio_id, position)
);

-- Samples from the mirror: the recordings with summaries of an account, newest first.
create index summaries_recent_idx on summaries (account_id, created_at desc, audio_id) where position = 0;
