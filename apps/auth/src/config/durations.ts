import { duration, type SettingOptions } from '@signet/config'

const HOUR_MS = 3_600_000
/** With spans up to this long, times fit into every column, and seconds into an integer. */
const MAX_SPAN_MS = 50 * 365 * 24 * HOUR_MS

type DurationOptions = SettingOptions<number> & { minMs?: number; maxMs?: number }

/** How long something is kept, stays valid or must wait. */
export const span = <O extends DurationOptions>(options: O) => duration<O>({ maxMs: MAX_SPAN_MS, ...options })

/** How long a timer of the process runs. Node fires a timer of 25 days or more immediately. */
export const timer = <O extends DurationOptions>(options: O) => duration<O>({ maxMs: HOUR_MS, ...options })
