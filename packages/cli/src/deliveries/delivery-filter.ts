import { isDay } from '@signet/http/date-time'
import { InvalidArgumentError, Option, type Command } from 'commander'
import type { DeliveryQuery } from '../api/types.js'

export type FilterOptions = {
  status?: 'pending' | 'delivered' | 'failed'
  eventType?: string
  eventId?: string
  since?: string
  until?: string
}

const STATUS = { pending: '0', delivered: '1', failed: '2' } as const
/** `Date` also reads other forms, such as a month alone. */
const DAY = /^\d{4}-\d\d-\d\d$/
const TIME = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:\d\d)?$/
const UNIT_MS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** Adds the options that filter deliveries, the same for every command that has them. */
export function filterOptions(command: Command): Command {
  return command
    .addOption(new Option('--status <word>', 'pending, delivered or failed').choices(Object.keys(STATUS)))
    .option('--event-type <type>', 'events of this type')
    .option('--event-id <id>', 'one event: its delivery and its replays')
    .option('--since <time>', 'created then or later: a date and time, or 30m, 2h, 7d ago', parseTime)
    .option('--until <time>', 'created before then', parseTime)
}

export function queryOf({ status, eventType, eventId, since, until }: FilterOptions): DeliveryQuery {
  return {
    ...(status && { status: STATUS[status] }),
    ...(eventType && { event_type: eventType }),
    ...(eventId && { event_id: eventId }),
    ...(since && { since }),
    ...(until && { until }),
  }
}

/** Converts a time to the form that the service expects. Without a zone, it is local time. */
export function parseTime(text: string): string {
  const [, count, unit] = /^(\d{1,6})([mhd])$/.exec(text) ?? []
  const time =
    count === undefined
      ? writtenTime(text)
      : new Date(Date.now() - Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS])
  if (Number.isNaN(time.getTime())) {
    throw new InvalidArgumentError('It must be like 2026-01-31T09:00:00Z, 2026-01-31, 30m, 2h or 7d.')
  }
  return time.toISOString()
}

/** An invalid date for text that is not a day, or a day and a time. */
function writtenTime(text: string): Date {
  if (!isDay(text.slice(0, 10))) return new Date(NaN)
  // `Date` would take a day alone as UTC, but a day with a time as local.
  if (DAY.test(text)) return new Date(`${text}T00:00`)
  return new Date(TIME.test(text) ? text : NaN)
}
