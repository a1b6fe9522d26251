import type { Contender } from './stage.js'

/** So many small deliveries leave little for V8 to compile: an event then costs half of what the first thousands cost. */
const DELIVERIES = 10_000

/** Brings a contender into the state of a service that has run for a while, because users seldom meet one that has just started. */
export async function warmUp(contender: Contender, endpoints = 1): Promise<void> {
  await contender.run({ bytes: 2048, events: DELIVERIES / endpoints })
}
