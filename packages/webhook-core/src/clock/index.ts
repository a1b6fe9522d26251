/** The time that all processes share. */
export { CLOCK_INTERVAL_MS, SharedClock } from './shared-clock.js'
