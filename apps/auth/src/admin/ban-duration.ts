import { parseDuration } from '@signet/config'
import { invalid } from '../errors/auth-error.js'

// The longest duration that Go, where the notation comes from, can represent: about 292 years.
const MAX_MS = 9_223_372_036_854
/** Longer than any sensible duration, and short enough for a pattern that tries every way to divide the digits. */
const MAX_LENGTH = 100
const UNIT = /^[+-]?((\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h))+$/

/**
 * When a ban of this duration ends. Null lifts the ban: for `none`, or a duration of zero
 * (docs/specification.md#users-made-by-administrators).
 */
export function bannedUntil(duration: string, now: Date): Date | null {
  if (duration === 'none') return null
  // A number without a unit is refused.
  const ms = duration.length <= MAX_LENGTH && UNIT.test(duration) ? parseDuration(duration) : null
  if (ms === null || Math.abs(ms) > MAX_MS)
    throw invalid('Invalid format for ban duration: a duration such as 24h or 1h30m, or none')
  return ms === 0 ? null : new Date(now.getTime() + ms)
}
