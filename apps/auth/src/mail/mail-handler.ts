import type { OneTimeTokens } from '../one-time-tokens/one-time-tokens.js'
import { exponentialDelay, type OutboxHandler } from '../outbox/outbox-handler.js'
import { EMAIL, type MailPayload, type MailUndo } from './mail-payload.js'
import type { RepeatedSignUpStore } from '../users/repeated-sign-up-store.js'
import type { MailTransport } from './mail-transport.js'

type Deps = {
  transport: MailTransport
  tokens: Pick<OneTimeTokens, 'withdraw'>
  repeatedSignUps: Pick<RepeatedSignUpStore, 'remove'>
  concurrency: number
  attemptMs: number
}

const FIRST_DELAY_MS = 2000
const MAX_DELAY_MS = 600_000
const UNKNOWN_DELAY_MS = 60_000

export const mailHandler = ({
  transport,
  tokens,
  repeatedSignUps,
  concurrency,
  attemptMs,
}: Deps): OutboxHandler<MailPayload, MailUndo> => ({
  kind: EMAIL,
  ordered: false,
  concurrency,
  attemptMs,
  retryDelayMs: exponentialDelay(FIRST_DELAY_MS, MAX_DELAY_MS),
  unknownDelayMs: UNKNOWN_DELAY_MS,
  send: ({ mail, to, variables }, { id, createdAt: at, meta: { requestId, ...meta }, signal }) =>
    transport.send(mail, to, variables, { id, requestId, origin: { ...meta, at }, signal }),
  async givenUp(tx, { mail, secrets, signUpId }) {
    for (const secret of secrets) await tokens.withdraw(tx, secret)
    if (signUpId !== undefined) await repeatedSignUps.remove(tx, signUpId)
    const userId = secrets[0]?.userId
    return { mail, ...(userId === undefined ? {} : { user_id: userId }) }
  },
})
