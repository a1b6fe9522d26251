import { parseArgs } from 'node:util'
import { InvalidSecretError, secretsOf } from '@signet/webhook-verify'

export type Options = {
  /** The ingest endpoint, `…/internal/v1/summary-ready`. */
  url: URL
  token: string
  accounts: readonly string[]
  perSecond: number
  seconds: number
  /** Length of the transcript text in bytes. */
  bytes: number
  connections: number
  /** Null to measure only the ingest endpoint. */
  receiver: { host: string; port: number; secrets: readonly string[]; arrivalTimeoutMs: number } | null
  json: boolean
}

export const HELP = `Publishes events at a steady rate and measures how long answers and deliveries take.

  npm run load -- --url <ingest> --account <id> [options]

  --url <url>          the ingest: http://<internal listener>/internal/v1/summary-ready
  --account <id>       whose events; repeat it to spread the load over accounts
  --rate <n>           events a second (default 50)
  --for <seconds>      how long (default 30)
  --size <bytes>       text of each transcript (default 2048)
  --connections <n>    connections to the ingest (default 64)
  --receive <port>     also count arrivals: an HTTP receiver on this port, for webhooks of those accounts
  --receive-host <ip>  address it listens on (default 127.0.0.1)
  --arrival-timeout <seconds>
                       how long to wait for the next arrival before giving up (default 30)
  --json               one JSON object instead of text

  SIGNET_LOAD_TOKEN    a token of WEBHOOKS_INTERNAL_TOKENS, as clear text
  SIGNET_LOAD_SECRETS  signing secrets of the webhooks, separated by commas: every arrival is verified

The events are real: every webhook of the accounts gets them. Exit code 0 if everything that was accepted has arrived,
1 if something is missing or was refused, 2 for wrong options.`

export class WrongOptions extends Error {}

/** Parses the arguments. Throws {@link WrongOptions} with every problem, one per line. Returns null if help is requested. */
export function readOptions(args: readonly string[], env: NodeJS.ProcessEnv): Options | null {
  const { values } = parsed(args)
  if (values.help) return null
  const problems: string[] = []
  const text = (name: string, value: string | undefined): string => {
    if (value === undefined || value === '') problems.push(`${name} is required`)
    return value ?? ''
  }
  const number = (name: string, value: string | undefined, range: { fallback: number; max: number }) => {
    if (value === undefined) return range.fallback
    if (!/^\d+$/.test(value) || Number(value) < 1 || Number(value) > range.max)
      problems.push(`${name} must be a whole number from 1 to ${range.max}`)
    return Number(value)
  }
  const address = text('--url', values.url)
  const url = urlIn(address)
  if (address !== '' && url === null) problems.push('--url must be an http or https URL')
  if ((values.account ?? []).length === 0) problems.push('--account is required')
  const options = {
    token: text('SIGNET_LOAD_TOKEN', env['SIGNET_LOAD_TOKEN']),
    accounts: values.account ?? [],
    perSecond: number('--rate', values.rate, { fallback: 50, max: 100_000 }),
    seconds: number('--for', values.for, { fallback: 30, max: 86_400 }),
    bytes: number('--size', values.size, { fallback: 2048, max: 30_000_000 }),
    connections: number('--connections', values.connections, { fallback: 64, max: 4096 }),
    json: values.json,
  }
  const port = number('--receive', values.receive, { fallback: 0, max: 65_535 })
  const arrivalTimeout = number('--arrival-timeout', values['arrival-timeout'], { fallback: 30, max: 3600 })
  const secrets = values.receive === undefined ? [] : secretsIn(env['SIGNET_LOAD_SECRETS'], problems)
  if (url === null || problems.length > 0) throw new WrongOptions(problems.join('\n'))
  const receiver = { host: values['receive-host'], port, secrets, arrivalTimeoutMs: arrivalTimeout * 1000 }
  return { ...options, url, receiver: values.receive === undefined ? null : receiver }
}

function urlIn(address: string): URL | null {
  try {
    const url = new URL(address)
    return /^https?:$/.test(url.protocol) ? url : null
  } catch {
    return null
  }
}

function secretsIn(value: string | undefined, problems: string[]): readonly string[] {
  try {
    return secretsOf((value ?? '').split(',').map((secret) => secret.trim()))
  } catch (error) {
    if (!(error instanceof InvalidSecretError)) throw error
    problems.push(`SIGNET_LOAD_SECRETS: ${error.message}`)
    return []
  }
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        url: { type: 'string' },
        account: { type: 'string', multiple: true },
        rate: { type: 'string' },
        for: { type: 'string' },
        size: { type: 'string' },
        connections: { type: 'string' },
        receive: { type: 'string' },
        'receive-host': { type: 'string', default: '127.0.0.1' },
        'arrival-timeout': { type: 'string' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    })
  } catch (error) {
    throw new WrongOptions(error instanceof Error ? error.message : String(error))
  }
}
