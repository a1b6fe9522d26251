import type { Answer, RequestContext } from '@signet/http'
import type { Request, Response } from 'express'
import type { ErrorCode } from '../../errors/error-codes.js'
import { captchaAnswer } from '../context/captcha-answer.js'
import { orShow, type Refusal } from '../context/refusals.js'
import type { Sent } from '../context/sign-in-pages.js'
import type { UiDeps } from '../context/ui-deps.js'
import { newNonce, type SentMessage } from '../context/sent-message.js'
import { toCode } from './code-routes.js'
import { sendMessage } from './send-message.js'

/** Only an address with an account can cause these errors, so they have to look like success. */
const TOO_SOON = {
  email: 'over_email_send_rate_limit',
  recovery: 'over_email_send_rate_limit',
  sms: 'over_sms_send_rate_limit',
} as const satisfies Record<string, ErrorCode>

type Step = { req: Request; res: Response; sent: Sent; context: RequestContext }

/** Sends a message to the address in a form, and redirects to the page that waits for it. */
export function askForMessage(
  deps: UiDeps,
  { req, res, sent, context }: Step,
  wanted: { kind: keyof typeof TOO_SOON; address: string },
  refused: (refusal: Refusal) => Answer | Promise<Answer>,
): Promise<Answer> {
  const message = { ...wanted, nonce: newNonce() }
  return orShow(
    sent.t,
    context,
    async () => {
      await deps.guard.captcha(req, captchaAnswer(sent))
      await sendMessage(deps, sent, message, deps.guard.metaOf(req))
      return toWaiting(deps, { req, res, sent }, message)
    },
    (refusal) =>
      refusal.code === TOO_SOON[wanted.kind]
        ? toWaiting(deps, { req, res, sent }, message, refusal)
        : refused(refusal),
  )
}

/**
 * Redirects to the page that waits for the new message, or for the previous one if this request came too soon. `password` belongs to a
 * sign-up: a code must only apply the password that was typed last.
 */
export function toWaiting(
  deps: UiDeps,
  { req, res, sent }: Pick<Step, 'req' | 'res' | 'sent'>,
  { password = '', ...message }: Pick<SentMessage, 'kind' | 'address' | 'nonce'> & { password?: string },
  tooSoon?: Refusal,
): Answer {
  const wish = JSON.stringify([message.kind, message.address, password])
  const before = tooSoon === undefined ? null : deps.state.askedBefore(req, sent.browser, wish)
  const nonce = before ?? message.nonce
  deps.state.rememberAsked(res, sent.browser, nonce, wish)
  return toCode(deps, sent, { ...message, nonce }, tooSoon)
}
