import type { Context } from '../command/context.js'
import { RefusedError } from '../errors.js'
import { printable } from '../output/text.js'
import { signedInApi } from '../session/active-token.js'

/** Lets the service send a ping to a webhook. One that is disabled gets none, which scripts have to notice. */
export async function sendTestEvent(context: Context, id: string): Promise<void> {
  const sent = await (await signedInApi(context)).sendTestEvent(id)
  context.output.result(
    sent,
    () => `Test event ${printable(sent.event_id)} is ${sent.queued ? 'queued' : 'not queued'}.`,
  )
  if (!sent.queued)
    throw new RefusedError('not_queued', `Webhook ${id} is disabled, so nothing is sent to it`, {
      hint: `To make it active again: signet webhooks enable ${id}`,
    })
  context.output.note(`See what became of it: signet deliveries list ${id}`)
}
