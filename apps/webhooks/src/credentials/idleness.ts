/**
 * Whether a personal token went unused for too long, in SQL (docs/specification.md#personal-tokens): 90 days, and ten minutes more because a
 * use is recorded at most that often.
 */
export const IS_IDLE = `coalesce(last_used_at, created_at) < now() - interval '90 days 10 minutes'`
