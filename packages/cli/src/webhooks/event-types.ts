import { InvalidArgumentError } from 'commander'

/** What a new webhook receives when nothing is said: the service itself would subscribe it to nothing. */
export const DEFAULT_EVENTS = ['summary.completed']

/** Which types exist is the service's business; here they only have to be a list. */
export function parseEvents(text: string): string[] {
  const events = text.split(',').map((one) => one.trim())
  if (events.some((one) => one === '')) {
    throw new InvalidArgumentError('It must be a list of event types separated by commas.')
  }
  return events
}
