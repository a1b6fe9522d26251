import type { RequestMeta } from '../../requests/request-meta.js'
import { emailFlow } from '../context/own-flow.js'
import type { SentMessage } from '../context/sent-message.js'
import type { Caller } from '../context/sign-in-pages.js'
import type { UiDeps } from '../context/ui-deps.js'

/** Requests a message. Nothing in the answer reveals whether it is sent. */
export function sendMessage(
  deps: UiDeps,
  caller: Caller,
  { kind, address, nonce }: Pick<SentMessage, 'kind' | 'address' | 'nonce'>,
  meta: RequestMeta,
): Promise<unknown> {
  const next = kind === 'recovery' ? 'password' : caller.context.next
  const { challenge, redirectTo } = emailFlow(deps, caller, { ...caller.context, next }, nonce, meta)
  const where = { aud: deps.aud, redirectTo, unknown: 'ignore' } as const
  switch (kind) {
    case 'email':
      return deps.otps.sendMagicLink({ email: address, ...challenge }, where, meta)
    case 'sign_up':
      return deps.resends.resend({ type: 'signup', email: address, ...challenge }, { redirectTo }, meta)
    case 'recovery':
      return deps.recoveries.recover({ email: address, ...challenge }, { redirectTo }, meta)
    case 'sms':
      return deps.otps.send({ phone: address }, { ...where, redirectTo: deps.returnUrl }, meta)
    case 'sms_sign_up':
      return deps.resends.resend({ type: 'sms', phone: address }, { redirectTo: deps.returnUrl }, meta)
  }
}
