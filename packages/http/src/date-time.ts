const RFC_3339 = /^\d{4}-\d\d-\d\d[Tt ](?:[01]\d|2[0-3]):\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)$/

/** Whether this is a time by RFC 3339 that exists, and that `Date`, PostgreSQL and four digits for the year can hold. */
export function isDateTime(text: string): boolean {
  if (!RFC_3339.test(text) || !isDay(text.slice(0, 10))) return false
  const time = new Date(text)
  // In UTC it may lie beyond the year 9999, or before the year 1.
  return !Number.isNaN(time.getTime()) && /^(?!0000)\d/.test(time.toISOString())
}

/** `Date` takes 30 February for 2 March. */
export function isDay(date: string): boolean {
  const midnight = new Date(`${date}T00:00:00Z`)
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(date)
}
