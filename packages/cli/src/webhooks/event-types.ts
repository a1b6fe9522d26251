import { InvalidArgumentError, Option, type Command } from 'commander'

/** The events of a new webhook by default: without a list, the service would subscribe it to nothing. */
export const DEFAULT_EVENTS = ['summary.completed']

/** Splits a list of event types. Only the service knows which types exist. */
export function parseEvents(text: string): string[] {
  const events = text.split(',').map((one) => one.trim())
  if (events.some((one) => one === '')) {
    throw new InvalidArgumentError('It must be a list of event types separated by commas.')
  }
  return events
}

export type EventOptions = { events?: string[]; noEvents?: boolean }

/** `--events` and `--no-events`, which exclude each other. */
export function eventOptions(command: Command, descriptions: { events: string; noEvents: string }): Command {
  const none = new Option('--no-events', descriptions.noEvents)
  // Commander would treat it as the negation of --events, which is the same option, and the last one given would apply.
  none.negate = false
  return command
    .addOption(
      new Option('--events <types>', descriptions.events).argParser(parseEvents).conflicts('noEvents'),
    )
    .addOption(none)
}

/** Undefined if the command line does not mention events. */
export const wantedEvents = ({ events, noEvents }: EventOptions): string[] | undefined =>
  noEvents ? [] : events
