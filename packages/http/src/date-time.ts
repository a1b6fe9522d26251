const RFC_3339 = /^\d{4}-\d\d-\d\d[Tt ](?:[01]\d|2[0-3]):\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)$/

/** Returns whether this is an existing time in RFC 3339 format, within what `Date`, PostgreSQL and four-digit years can represent. */
export function isDateTime(text: string): boolean {
  if (!RFC_3339.test(text) || !isDay(text.slice(0, 10))) return false
  const time = new Date(text)
  // In UTC, the time may be after the year 9999 or before the year 1.
  return !Number.isNaN(time.getTime()) && /^(?!0000)\d/.test(time.toISOString())
}

/** Checks that the day exists: `Date` reads 30 February as 2 March. */
export function isDay(date: string): boolean {
  const midnight = new Date(`${date}T00:00:00Z`)
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(date)
}
