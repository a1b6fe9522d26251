import { Option, type Command } from 'commander'
import pTimeout from 'p-timeout'
import type { Context } from '../command/context.js'
import { defineCommand, integerOption, run } from '../command/define.js'
import { readNamedFile } from '../command/files.js'
import type { Host } from '../command/host.js'
import { parseHookAddress, parseTarget } from '../command/target.js'
import { UsageError } from '../errors.js'
import { signedInApi } from '../session/active-token.js'
import { DEFAULT_EVENTS, parseEvents } from '../webhooks/event-types.js'
import { DeliveryLog } from './delivery-log.js'
import { webhookSecretOf } from './webhook-secret.js'
import { startReceiver, type Receiver } from './receiver.js'
import { createTemporaryWebhook, type TemporaryWebhook } from './temporary-webhook.js'

type Options = {
  forwardTo?: URL
  create?: boolean
  publicUrl?: string
  events: string[]
  host: string
  port: number
  tlsCert?: string
  tlsKey?: string
  count?: number
  full?: boolean
}

export function listenCommand(parent: Command, host: Host): void {
  defineCommand(parent, 'listen', 'receive deliveries on this computer, print and verify them', {
    examples: [
      'signet listen --create --forward-to http://localhost:3000/hook',
      'signet listen --create --public-url https://my-tunnel.example/ --port 8787',
      'SIGNET_WEBHOOK_SECRET=whsec_… signet listen --port 8787 --count 1 --json',
    ],
  })
    .option(
      '--forward-to <address>',
      'forward authentic deliveries to your application',
      parseTarget('--forward-to'),
    )
    .option('--create', 'make a temporary webhook for this receiver and delete it at the end')
    .option('--public-url <address>', 'address of a tunnel to this receiver, for --create', parseHookAddress)
    .addOption(
      new Option('--events <types>', 'comma-separated event types for --create')
        .argParser(parseEvents)
        .default(DEFAULT_EVENTS, DEFAULT_EVENTS.join(',')),
    )
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .addOption(
      integerOption('--port <number>', 'port to listen on; 0 takes a free one', 0, 65_535).default(0),
    )
    .option('--tls-cert <file>', 'serve https with this certificate (PEM)')
    .option('--tls-key <file>', 'private key of the certificate (PEM)')
    .addOption(integerOption('--count <number>', 'exit after this many accepted deliveries', 1, 1_000_000))
    .option('--full', 'print long payloads whole')
    .addHelpText(
      'after',
      '\nWithout --create, set SIGNET_WEBHOOK_SECRET to verify signatures. Press Ctrl-C to stop.',
    )
    .action(run<Options>(host, listen))
}

/** Starts the receiver and creates the webhook. Every step is undone at the end, in reverse order. */
async function listen(context: Context, options: Options): Promise<void> {
  const webhookSecret = webhookSecretOf(context.settings)
  const interrupted = context.interruption()
  const log = new DeliveryLog(context.output, {
    full: options.full === true,
    count: options.count,
    forwardTo: options.forwardTo,
  })
  const { host, port } = options
  const receiver = await startReceiver({
    host,
    port,
    tls: await tlsOf(options),
    onDelivery: (received) => log.take(received),
  })
  try {
    const webhook = options.create ? await subscribe(context, options, receiver) : null
    try {
      const secret = webhook?.secret ?? webhookSecret
      showReady(context, receiver, webhook, secret !== undefined)
      log.verifyWith(secret)
      await untilFirst(log.done, interrupted)
    } finally {
      await webhook?.delete()
    }
  } finally {
    await receiver.close()
  }
  context.output.streamed(
    { kind: 'end', accepted: log.accepted },
    () => `${log.accepted} ${log.accepted === 1 ? 'delivery' : 'deliveries'} accepted.`,
  )
}

async function subscribe(context: Context, options: Options, receiver: Receiver): Promise<TemporaryWebhook> {
  const api = await signedInApi(context)
  const { publicUrl, events } = options
  return createTemporaryWebhook(api, { url: receiver.url, publicUrl, events }, context.output)
}

function showReady(
  { output }: Context,
  receiver: Receiver,
  webhook: TemporaryWebhook | null,
  isVerifying: boolean,
): void {
  const start = { kind: 'start', url: receiver.url, ...(webhook ? { endpoint_id: webhook.id } : {}) }
  output.streamed(start, (paint) => `Listening on ${paint('cyan', receiver.url)}`)
  if (webhook) {
    output.note(`Webhook ${webhook.id} points here until you stop. Try: signet webhooks test ${webhook.id}`)
  }
  if (!isVerifying) {
    output.warn('Signatures are not verified: set SIGNET_WEBHOOK_SECRET, or let --create make a webhook.')
  }
}

async function tlsOf({ tlsCert, tlsKey }: Options): Promise<{ cert: Buffer; key: Buffer } | undefined> {
  if (tlsCert === undefined && tlsKey === undefined) return undefined
  if (tlsCert === undefined || tlsKey === undefined) {
    throw new UsageError('--tls-cert and --tls-key go together')
  }
  const [cert, key] = await Promise.all([readNamedFile(tlsCert), readNamedFile(tlsKey)])
  return { cert, key }
}

/** Resolves when the work is done or the user interrupts it. */
const untilFirst = (work: Promise<void>, interrupted: AbortSignal): Promise<void> =>
  pTimeout(work, { milliseconds: Infinity, signal: interrupted }).catch((error: unknown) => {
    if (!interrupted.aborted) throw error
  })
