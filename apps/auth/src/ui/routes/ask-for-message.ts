import type { Answer, RequestContext } from '@signet/http'
import type { Request } from 'express'
import type { ErrorCode } from '../../errors/error-codes.js'
import { captchaAnswer } from '../context/captcha-answer.js'
import { orShow, type Refusal } from '../context/refusals.js'
import type { Sent } from '../context/sign-in-pages.js'
import type { UiDeps } from '../context/ui-deps.js'
import { toCode } from './code-routes.js'
import { sendMessage } from './send-message.js'

/** What only an address with an account can cause, so it has to look like success. */
const TOO_SOON = {
  email: 'over_email_send_rate_limit',
  recovery: 'over_email_send_rate_limit',
  sms: 'over_sms_send_rate_limit',
} as const satisfies Record<string, ErrorCode>

type Step = { req: Request; sent: Sent; context: RequestContext }

/** Sends a message for the address of a form, and leads to the page that waits for it. */
export const askForMessage = (
  deps: UiDeps,
  { req, sent, context }: Step,
  message: { kind: keyof typeof TOO_SOON; address: string },
  refused: (refusal: Refusal) => Answer | Promise<Answer>,
): Promise<Answer> =>
  orShow(
    sent.t,
    context,
    async () => {
      await deps.guard.captcha(req, captchaAnswer(sent))
      await sendMessage(deps, sent, message, deps.guard.metaOf(req))
      return toCode(deps, sent, message)
    },
    (refusal) =>
      refusal.code === TOO_SOON[message.kind] ? toCode(deps, sent, message, refusal) : refused(refusal),
  )
