import { parseArgs } from 'node:util'
import { isDay } from '@signet/http/date-time'
import { parseDeliveryId, parseEndpointId, type DeliveryId, type EndpointId } from '@signet/webhook-core'
import type { Author } from './operations.js'
import { usageError } from './ops-error.js'

/** A time as it was given: exact, or relative to when the command runs. */
export type Since = { at: Date } | { agoMs: number }
export type RequeueTarget = { deliveryId: DeliveryId } | { endpointId: EndpointId; since: Since }

export type OpsCommand =
  | { name: 'help' }
  | { name: 'status' }
  | { name: 'pause' | 'resume' | 'reseal'; author: Author }
  | { name: 'drain'; author: Author; timeoutMs: number }
  | { name: 'requeue'; author: Author; target: RequeueTarget; dryRun: boolean }
  | { name: 'inspect'; deliveryId: DeliveryId }
  | { name: 'account'; accountId: string }
  | { name: 'disabled'; since: Since }
  | { name: 'enable'; author: Author; endpointId: EndpointId }

export const USAGE = `Usage: node apps/dispatcher/dist/main.js ops <command> [options]

  status                                   show the backlog, any pause and recent actions
  pause    --why TEXT                      start no new work; events are still accepted and stored
  resume   --why TEXT                      end the pause
  drain    --why TEXT [--timeout SECONDS]  pause and wait until nothing is in flight (default 30)
  requeue  DELIVERY --why TEXT             send the event of a delivery again, as a new delivery
  requeue  --endpoint ID --since TIME --why TEXT
                                           send everything again that failed for an endpoint since a time:
                                           2026-01-31T09:00:00Z, or 30m, 6h, 2d ago
  inspect  DELIVERY                        show a delivery and its attempts
  account  ACCOUNT                         count the rows of an account; exit code 0 only when none is left
  disabled [--since TIME]                  list endpoints disabled since a time (default 1d)
  enable   --endpoint ID --why TEXT        enable an endpoint that was disabled through our fault
  reseal   --why TEXT                      re-encrypt every signing secret with the first of WEBHOOKS_SECRET_KEYS

  --by NAME    who runs the command (default: USER or LOGNAME)
  --dry-run    with requeue: only show what would be sent
  --json       print one JSON object instead of text

Uses the dispatcher's settings. Exit codes: 0 done, 1 failed, 2 usage error, 3 nothing found or nothing
to do, 4 not drained in time.`

type Values = {
  [Name in keyof typeof OPTIONS]?: (typeof OPTIONS)[Name]['type'] extends 'boolean' ? boolean : string
}

const OPTIONS = {
  why: { type: 'string' },
  by: { type: 'string' },
  timeout: { type: 'string' },
  endpoint: { type: 'string' },
  since: { type: 'string' },
  'dry-run': { type: 'boolean' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const

/** The options of each command besides `--json`. Any other option is an error, never ignored. */
const TAKES: ReadonlyMap<string, readonly (keyof typeof OPTIONS)[]> = new Map(
  Object.entries({
    help: [],
    status: [],
    pause: ['why', 'by'],
    resume: ['why', 'by'],
    drain: ['why', 'by', 'timeout'],
    requeue: ['why', 'by', 'endpoint', 'since', 'dry-run'],
    inspect: [],
    account: [],
    reseal: ['why', 'by'],
    disabled: ['since'],
    enable: ['why', 'by', 'endpoint'],
  }),
)

export type OpsArguments = { command: OpsCommand; json: boolean }

/** Parses the arguments after `ops`. Throws a usage error that says what is wrong. */
export function parseOps(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): OpsArguments {
  const { values, positionals } = parse(argv)
  const [name, ...operands] = positionals
  const json = values.json === true
  if (values.help || name === 'help') return { command: { name: 'help' }, json }
  if (name === undefined) throw usageError('A command is required')
  const allowed = TAKES.get(name)
  if (!allowed) throw usageError(`Unknown command: ${name}`)
  for (const option of Object.keys(values)) {
    if (option !== 'json' && !allowed.some((item) => item === option))
      throw usageError(`${name} does not take --${option}`)
  }
  return { command: toCommand(name, operands, values, () => authorOf(values, env)), json }
}

function toCommand(name: string, operands: string[], values: Values, author: () => Author): OpsCommand {
  const takesOne =
    name === 'inspect' || name === 'account' || (name === 'requeue' && values.endpoint === undefined)
  if (operands.length > (takesOne ? 1 : 0)) throw usageError(`Unexpected argument: ${operands.at(-1)}`)
  switch (name) {
    case 'pause':
    case 'resume':
    case 'reseal':
      return { name, author: author() }
    case 'drain':
      return { name, timeoutMs: 1000 * secondsOf(values.timeout ?? '30'), author: author() }
    case 'requeue':
      return {
        name,
        target: targetOf(operands[0], values),
        dryRun: values['dry-run'] === true,
        author: author(),
      }
    case 'inspect':
      return { name, deliveryId: deliveryOf(operands[0]) }
    case 'account':
      return { name, accountId: accountOf(operands[0]) }
    case 'disabled':
      return { name, since: sinceOf(values.since ?? '1d') }
    case 'enable':
      return { name, endpointId: endpointOf(values.endpoint), author: author() }
    default:
      return { name: 'status' }
  }
}

function parse(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true })
  } catch (error) {
    throw usageError(error instanceof Error ? error.message : String(error))
  }
}

function authorOf(values: Values, env: Readonly<Record<string, string | undefined>>): Author {
  const operator = (values.by ?? env['USER'] ?? env['LOGNAME'] ?? '').trim()
  if (operator === '' || operator.length > 200)
    throw usageError('--by NAME is required: who is running this?')
  const reason = (values.why ?? '').trim()
  if (reason === '' && values['dry-run'] !== true)
    throw usageError('--why TEXT is required. It is stored with the action.')
  if (reason.length > 1000) throw usageError('--why takes at most 1000 characters')
  return { operator, reason }
}

function targetOf(operand: string | undefined, { endpoint, since }: Values): RequeueTarget {
  if (endpoint === undefined) {
    if (since !== undefined) throw usageError('--since requires --endpoint')
    return { deliveryId: deliveryOf(operand) }
  }
  const endpointId = endpointOf(endpoint)
  if (since === undefined) throw usageError('--endpoint requires --since TIME')
  return { endpointId, since: sinceOf(since) }
}

function endpointOf(text: string | undefined): EndpointId {
  const id = text === undefined ? null : parseEndpointId(text)
  if (!id) throw usageError('--endpoint takes an endpoint id')
  return id
}

function deliveryOf(text: string | undefined): DeliveryId {
  const id = text === undefined ? null : parseDeliveryId(text)
  if (!id)
    throw usageError(
      'A delivery id is required. It is in the delivery log and in the X-Service-Delivery header.',
    )
  return id
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

function accountOf(text: string | undefined): string {
  if (text === undefined || !UUID.test(text)) throw usageError('The account id must be a UUID')
  return text.toLowerCase()
}

function secondsOf(text: string): number {
  if (!/^\d{1,5}$/.test(text)) throw usageError('--timeout takes a number of seconds')
  return Number(text)
}

const UNIT_MS: ReadonlyMap<string, number> = new Map(
  Object.entries({ m: 60_000, h: 3_600_000, d: 86_400_000 }),
)
/** The largest amount, in any unit. For anything longer ago, give a date. */
const MAX_AGO = 9999
const ISO_TIME = /^(\d{4}-\d\d-\d\d)T(?:[01]\d|2[0-3]):\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)$/

function sinceOf(text: string): Since {
  const [, amount, unit] = /^(\d+)([mhd])$/.exec(text) ?? []
  if (amount !== undefined) {
    if (Number(amount) > MAX_AGO)
      throw usageError(`--since goes back ${MAX_AGO} minutes, hours or days at most, not ${text}`)
    return { agoMs: Number(amount) * (UNIT_MS.get(unit ?? '') ?? 0) }
  }
  const [, day] = ISO_TIME.exec(text) ?? []
  const at = new Date(text)
  // Without a zone, a time would mean something else on every machine.
  if (day === undefined || !isDay(day) || Number.isNaN(at.getTime()))
    throw usageError('--since takes 2026-01-31T09:00:00Z, or 30m, 6h, 2d')
  return { at }
}

/** Throws a usage error for a time in the future. */
export function timeOf(since: Since, now: Date): Date {
  if ('agoMs' in since) return new Date(now.getTime() - since.agoMs)
  if (since.at > now) throw usageError('--since must not be in the future')
  return since.at
}
