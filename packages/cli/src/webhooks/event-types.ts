import { InvalidArgumentError } from 'commander'

/** What a new webhook receives by default: without a list, the service would subscribe it to nothing. */
export const DEFAULT_EVENTS = ['summary.completed']

/** Splits a list of event types. Only the service knows which types exist. */
export function parseEvents(text: string): string[] {
  const events = text.split(',').map((one) => one.trim())
  if (events.some((one) => one === '')) {
    throw new InvalidArgumentError('It must be a list of event types separated by commas.')
  }
  return events
}
