import type { Language } from './languages.js'

const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

type Unit = 'second' | 'minute' | 'hour' | 'day'

/** Creating a formatter takes forty times as long as using it, and a page with a list uses one a hundred times. */
function kept<Key, Format>(make: (key: Key) => Format): (key: Key) => Format {
  const made = new Map<Key, Format>()
  return (key) => {
    const format = made.get(key) ?? make(key)
    made.set(key, format)
    return format
  }
}

const units = kept((language: Language) =>
  kept((unit: Unit) => new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'long' })),
)
const dateTimes = kept(
  (language: Language) =>
    new Intl.DateTimeFormat(language === 'en' ? 'en-GB' : language, {
      dateStyle: 'long',
      timeStyle: 'short',
      timeZone: 'UTC',
    }),
)
const timestamps = kept(
  (language: Language) =>
    new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'medium', timeZone: 'UTC' }),
)

export const unitText = (language: Language, count: number, unit: Unit): string =>
  units(language)(unit).format(count)

/** Writes a duration in words, in the largest unit that fits: `90` is `90 seconds`, `3600` is `1 hour`. */
export function durationText(language: Language, seconds: number): string {
  const [unit, length] = unitOf(seconds)
  return unitText(language, Math.ceil(seconds / length), unit)
}

function unitOf(seconds: number): [unit: Unit, length: number] {
  if (seconds >= 2 * DAY || seconds === DAY) return ['day', DAY]
  if (seconds >= HOUR && seconds % HOUR === 0) return ['hour', HOUR]
  if (seconds > 2 * HOUR) return ['hour', HOUR]
  return seconds > 2 * MINUTE || (seconds > 0 && seconds % MINUTE === 0) ? ['minute', MINUTE] : ['second', 1]
}

/** Date and time as people write them, in UTC and labeled as such, because the service does not know the reader's time zone. */
export const dateTimeText = (language: Language, at: Date): string => `${dateTimes(language).format(at)} UTC`

/** A time to the second, for lists of what happened: `2026-03-04 05:06:07 UTC`, `04.03.2026, 05:06:07 UTC`. */
export function timestampText(language: Language, at: Date): string {
  if (language === 'en') return `${at.toISOString().slice(0, 19).replace('T', ' ')} UTC`
  return `${timestamps(language).format(at)} UTC`
}
