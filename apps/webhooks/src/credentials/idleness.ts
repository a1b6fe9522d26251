/**
 * Whether a personal token is idle, in SQL (docs/specification.md#personal-tokens): unused for 90 days, plus ten minutes, because a use
 * is recorded at most that often.
 */
export const IS_IDLE = `coalesce(last_used_at, created_at) < now() - interval '90 days 10 minutes'`
