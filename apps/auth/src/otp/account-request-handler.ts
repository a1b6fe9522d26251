import { isAppError } from '@signet/errors'
import type { OtpService } from './otp-service.js'
import type { RecoveryService } from './recovery-service.js'
import type { ResendService } from './resend-service.js'
import { exponentialDelay, type OutboxHandler } from '../outbox/outbox-handler.js'
import { ACCOUNT_REQUEST } from '../account-requests/account-requests.js'
import type { AccountWork } from '../account-requests/account-work.js'

type HandlerDeps = {
  otps: OtpService
  recoveries: RecoveryService
  resends: ResendService
  concurrency: number
  attemptMs: number
}

export const accountRequestHandler = ({
  otps,
  recoveries,
  resends,
  concurrency,
  attemptMs,
}: HandlerDeps): OutboxHandler<AccountWork> => ({
  kind: ACCOUNT_REQUEST,
  ordered: true,
  concurrency,
  attemptMs,
  retryDelayMs: exponentialDelay(1000, 60_000),
  async send({ what, input }, { meta }) {
    if (what === 'code') await done(otps.fulfill(input, meta))
    else if (what === 'recover') await done(recoveries.fulfill(input, meta))
    else await done(resends.fulfill(input, meta))
  },
})

/** A refusal, for example of a banned user, ends the request: no client is waiting for it. */
async function done(work: Promise<void>): Promise<void> {
  await work.catch((error: unknown) => {
    if (!isAppError(error) || error.kind === 'internal' || error.kind === 'unavailable') throw error
  })
}
