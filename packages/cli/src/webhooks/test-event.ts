import type { Context } from '../command/context.js'
import { RefusedError } from '../errors.js'
import { printable } from '../output/text.js'
import { signedInApi } from '../session/active-token.js'

/** Asks the service to send a ping to a webhook. A disabled webhook gets none, which scripts must notice. */
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
  context.output.note(`To see its delivery: signet deliveries list ${id}`)
}
