import { randomBytes } from 'node:crypto'
import { sign } from '@signet/webhook-verify'
import type { Command } from 'commander'
import type { Sample } from '../api/types.js'
import type { Context } from '../command/context.js'
import { defineCommand, parseId, run } from '../command/define.js'
import type { Host } from '../command/host.js'
import { parseTarget } from '../command/target.js'
import { RefusedError, UsageError } from '../errors.js'
import { answerJson, answerText, isSuccess } from '../listen/answer-view.js'
import { forward } from '../listen/forward.js'
import { webhookSecretOf } from '../listen/webhook-secret.js'
import { signedInApi } from '../session/active-token.js'
import { sendTestEvent } from '../webhooks/test-event.js'

type Options = { to?: URL; webhook?: string }

const PING = 'webhook.ping'

export function triggerCommand(parent: Command, host: Host): void {
  defineCommand(parent, 'trigger', 'send an event to your application', {
    examples: [
      'SIGNET_WEBHOOK_SECRET=whsec_… signet trigger summary.completed --to http://localhost:3000/hook',
      'signet trigger webhook.ping --webhook 42',
    ],
  })
    .argument('<type>', 'event type, such as summary.completed or webhook.ping')
    .option(
      '--to <address>',
      'send a sample from this computer, signed with SIGNET_WEBHOOK_SECRET',
      parseTarget('--to'),
    )
    .option('--webhook <id>', `let the service send it to a webhook; ${PING} only`, parseId)
    .action(run<Options>(host, trigger))
}

async function trigger(context: Context, { to, webhook }: Options, type = ''): Promise<void> {
  if ((to === undefined) === (webhook === undefined)) {
    throw new UsageError('Say where it goes: either --to <address> or --webhook <id>')
  }
  if (webhook !== undefined) return byService(context, type, webhook)
  if (to !== undefined) return fromHere(context, type, to)
}

async function byService(context: Context, type: string, webhook: string): Promise<void> {
  if (type !== PING) {
    throw new UsageError(`The service sends ${PING} on request, but not ${type}`, {
      hint: 'To test an application with it: --to <address>.',
    })
  }
  await sendTestEvent(context, webhook)
}

/** Sends a sample with a new id and time, so that an application that drops repeats accepts it. */
async function fromHere(context: Context, type: string, to: URL): Promise<void> {
  const secret = webhookSecretOf(context.settings)
  // Gets the sample before asking for a secret: only the service knows whether the type exists.
  const sample = await sampleOf(context, type)
  if (secret === undefined) {
    throw new UsageError('There is no secret to sign with', {
      hint: 'Set SIGNET_WEBHOOK_SECRET to the one that the application verifies with.',
    })
  }
  const event = {
    ...sample,
    id: `evt_${randomBytes(16).toString('hex')}`,
    created_at: new Date().toISOString(),
  }
  const body = Buffer.from(JSON.stringify(event))
  const answer = await forward({ body, rawHeaders: Object.entries(sign(body, secret)).flat() }, to)
  context.output.result({ event_id: event.id, answer: answerJson(to, answer) }, (paint) =>
    `${paint('bold', type)}  ${event.id}\n${answerText(to, answer, paint)}`.trimEnd(),
  )
  if (!isSuccess(answer)) throw new RefusedError('not_accepted', `${to.host} did not accept the event`)
}

async function sampleOf(context: Context, type: string): Promise<Sample> {
  const [sample] = await (await signedInApi(context)).listSamples({ event: type, limit: '1' })
  if (sample === undefined) throw new RefusedError('not_found', `There is no sample of ${type}`)
  return sample
}
