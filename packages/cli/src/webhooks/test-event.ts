import type { Context } from '../command/context.js'
import { printable } from '../output/text.js'
import { signedInApi } from '../session/active-token.js'

/** Lets the service send a ping to a webhook. */
export async function sendTestEvent(context: Context, id: string): Promise<void> {
  const sent = await (await signedInApi(context)).sendTestEvent(id)
  context.output.result(
    sent,
    () => `Test event ${printable(sent.event_id)} is ${sent.queued ? 'queued' : 'not queued'}.`,
  )
  context.output.note(
    sent.queued
      ? `See what became of it: signet deliveries list ${id}`
      : `The webhook is disabled. To make it active again: signet webhooks enable ${id}`,
  )
}
