import { buffer } from 'node:stream/consumers'
import {
  DEFAULT_TOLERANCE_SECONDS,
  MissingHeaderError,
  SIGNATURE_HEADER,
  TIMESTAMP_HEADER,
  verify,
  WebhookVerificationError,
} from '@signet/webhook-verify'
import { InvalidArgumentError, type Command } from 'commander'
import type { Context } from '../command/context.js'
import { defineCommand, integerOption, run } from '../command/define.js'
import { readNamedFile } from '../command/files.js'
import type { Host } from '../command/host.js'
import { RefusedError, UsageError } from '../errors.js'
import { webhookSecretOf } from '../listen/webhook-secret.js'
import { printable } from '../output/text.js'

type Headers = Record<string, string[]>
type Options = { header: Headers; toleranceSeconds: number }

/** Checks a saved request and reports whether its secret, its bytes or its time is wrong. */
export function verifyCommand(parent: Command, host: Host): void {
  defineCommand(parent, 'verify', 'check the signature of a request that your application received', {
    usesService: false,
    examples: [
      "signet verify body.json --header 'X-Service-Timestamp: 1767225600' --header 'X-Service-Signature: sha256=…'",
      "signet verify body.json --header 'webhook-id: evt_…' --header 'webhook-timestamp: 1767225600' --header 'webhook-signature: v1,…' --tolerance-seconds 86400",
    ],
  })
    .argument('[body]', 'file with the body, byte for byte; else it is read from stdin')
    .requiredOption('--header <line>', 'a header of the request, as Name: value; once for each', addHeader)
    .addOption(
      integerOption(
        '--tolerance-seconds <seconds>',
        'how long ago it may have been signed',
        0,
        999_999_999,
      ).default(DEFAULT_TOLERANCE_SECONDS),
    )
    .addHelpText(
      'after',
      '\nSIGNET_WEBHOOK_SECRET must be the secret of the webhook. Exit code 1 means that the request is not authentic.',
    )
    .action(run<Options>(host, (context, options, path) => check(context, options, path, host)))
}

async function check(
  { settings, output }: Context,
  { header, toleranceSeconds }: Options,
  path: string | undefined,
  { stdin }: Host,
): Promise<void> {
  const secret = webhookSecretOf(settings)
  if (secret === undefined) {
    throw new UsageError('There is no secret to verify with', {
      hint: 'Set SIGNET_WEBHOOK_SECRET to the one of the webhook.',
    })
  }
  const body = path === undefined ? await buffer(stdin) : await readNamedFile(path)
  const { id, type } = verified(header, () => verify(body, header, secret, { toleranceSeconds }))
  output.result({ verified: true, event_id: id, event_type: type }, (paint) =>
    [paint('green', '✓ verified'), printable(type), printable(id)].join('  '),
  )
}

function verified<Event>(headers: Headers, check: () => Event): Event {
  try {
    return check()
  } catch (error) {
    if (error instanceof MissingHeaderError) {
      const header = missingStandardHeader(headers) ?? error.header
      throw new RefusedError(error.code, `Header ${header} is missing`)
    }
    if (error instanceof WebhookVerificationError) throw new RefusedError(error.code, error.message)
    throw error
  }
}

const STANDARD_HEADERS = ['webhook-id', 'webhook-timestamp', 'webhook-signature']
const SERVICE_HEADERS = [TIMESTAMP_HEADER, SIGNATURE_HEADER].map((name) => name.toLowerCase())

/**
 * If the given headers are those of Standard Webhooks, returns the one that is missing. Without the `webhook-signature` header, the
 * verifier expects the service's own headers and would name one of those, which would confuse the user.
 */
function missingStandardHeader(headers: Headers): string | undefined {
  const isGiven = (name: string) => name in headers
  if (!STANDARD_HEADERS.some(isGiven) || SERVICE_HEADERS.some(isGiven)) return undefined
  return STANDARD_HEADERS.find((name) => !headers[name]?.[0])
}

/** Adds a header. If a name is repeated, both values are kept, and verification rejects them. */
function addHeader(line: string, headers: Headers = {}): Headers {
  const [, name = '', value = ''] = /^([!#$%&'*+.^_`|~\w-]+):(.*)$/.exec(line) ?? []
  if (name === '') throw new InvalidArgumentError('It must be like a line of the request: Name: value.')
  const key = name.toLowerCase()
  return { ...headers, [key]: [...(headers[key] ?? []), value.trim()] }
}
