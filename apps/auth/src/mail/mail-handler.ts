import { type OneTimeTokens, type Withdrawable } from '../one-time-tokens/one-time-tokens.js'
import { exponentialDelay, type OutboxHandler } from '../outbox/outbox-handler.js'
import { type MailKind, type MailVariables, type NoticeKind } from './kinds.js'
import { type MailTransport } from './mail-transport.js'

export const EMAIL = 'email'

/** A mail in the outbox. */
export type MailPayload = {
  mail: MailKind | NoticeKind
  to: string
  variables: MailVariables
  /** What the mail was to bring; taken back when it never arrives. */
  secrets: readonly Withdrawable[]
}

type Deps = {
  transport: MailTransport
  tokens: Pick<OneTimeTokens, 'withdraw'>
  concurrency: number
  attemptMs: number
}

const FIRST_DELAY_MS = 2000
const MAX_DELAY_MS = 600_000

export const mailHandler = ({
  transport,
  tokens,
  concurrency,
  attemptMs,
}: Deps): OutboxHandler<MailPayload> => ({
  kind: EMAIL,
  ordered: false,
  concurrency,
  attemptMs,
  retryDelayMs: exponentialDelay(FIRST_DELAY_MS, MAX_DELAY_MS),
  send: ({ mail, to, variables }, { id, meta: { requestId } }) =>
    transport.send(mail, to, variables, { id, requestId }),
  async givenUp(tx, { mail, secrets }) {
    for (const secret of secrets) await tokens.withdraw(tx, secret)
    const userId = secrets[0]?.userId
    return { mail, ...(userId === undefined ? {} : { user_id: userId }) }
  },
})
