import { AppError, type AppErrorOptions } from '@signet/errors'

/**
 * The API's messages for broken rules. The portal has its own text for each, in the reader's language (`portal.rule.…`). Words in
 * braces are replaced with values.
 */
export const ruleMessages = {
  'url.length': 'url must have 1 to 2048 characters',
  'url.scheme': 'url must start with https://',
  'url.slashes': 'url must have its host right after https://',
  'url.invisible': 'url must not contain spaces, control or invisible characters, or backslashes',
  'url.invalid': 'url is not a valid URL',
  'url.credentials': 'url must not contain credentials',
  'url.fragment': 'url must not contain a fragment',
  'url.port': 'url has port {port}, which is not allowed',
  'url.own': 'url must not point to this service',
  'url.host': 'url must have a public host name',
  'url.addresses': 'url must have a host that resolves to public addresses only',
  'event.empty': 'An event type is empty: use one of {known}',
  'event.unknown': 'Unknown event type {type}: use one of {known}',
  'endpoint.quota': 'An account can have {max} webhooks',
  'endpoint.disabled': 'The webhook is disabled: enable it first',
  'secret.waiting': 'Another secret is already pending: activate or cancel it first',
  'secret.replaced': 'The secret was replaced a moment ago: replace it again after ten seconds',
  'secret.none': 'No secret is pending: there was none, or it was activated or cancelled',
  'delivery.pending': 'The delivery is still pending',
  'delivery.elsewhere': 'The event is already pending, in delivery {id}',
  'delivery.replayed':
    'The event was sent again a moment ago, in delivery {id}: send it again after ten seconds',
  'delivery.gone': 'The recording was deleted, so there is nothing left to send',
  'recovery.running': 'A recovery of this webhook, {id}, is running: wait for it or cancel it',
  'recovery.started': 'A recovery was started a moment ago, {id}: start another after ten seconds',
  'recovery.time': 'since must be earlier than until and now',
  'recovery.too-many': 'More than {max} deliveries match: choose a shorter time',
  'recovery.over': 'The recovery has ended: {state}',
  'filter.event': 'event_id must be an event id: evt_ and 32 hex digits',
  'filter.range': 'until must be later than since',
  'filter.cursor': 'cursor must be a next_cursor of the same webhook and filters',
  'query.once': '{name} must be given once',
  'query.time': '{name} must be a date and time such as 2026-01-31T09:00:00Z',
  'query.choice': '{name} must be one of {choices}',
  'token.name': 'name must be 1 to 100 characters of text',
  'token.quota': 'An account has at most {max} usable personal tokens',
} as const

export type Rule = keyof typeof ruleMessages
type Values = Readonly<Record<string, string | number>>

const CODES = { invalid: 'bad_request', conflict: 'conflict', limited: 'too_many_requests' } as const

type Options = Pick<AppErrorOptions, 'cause'> & { kind?: keyof typeof CODES; values?: Values }

/** The caller broke a rule. */
export class RuleError extends AppError {
  readonly values: Values

  constructor(
    readonly rule: Rule,
    { kind = 'invalid', values = {}, cause }: Options = {},
  ) {
    super(kind, CODES[kind], filledIn(ruleMessages[rule], values), { cause })
    this.values = values
  }
}

const filledIn = (message: string, values: Values): string =>
  message.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? ''))
