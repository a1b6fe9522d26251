import { isAppError } from '@signet/errors'
import { route, type Answer, type Route } from '@signet/http'
import type { Request, Response } from 'express'
import { parseVerifyBody } from '../../verify/verify-request.js'
import { faultOf, orShow, PageRefusal, type Refusal } from '../context/refusals.js'
import { isEmail, openSent, sealSent, type SentMessage } from '../context/sent-message.js'
import { proved, type SignInContext } from '../context/sign-in-context.js'
import { pageDocs, pageForm, type Caller, type PageForm } from '../context/sign-in-pages.js'
import type { UiDeps } from '../context/ui-deps.js'
import { codePage } from '../pages/code-page.js'
import { sendMessage } from './send-message.js'

/** Names of the form fields, by the subject of a refusal. */
const FIELDS = { code: 'code' }

/** The page that waits for a code or a link, from an email or an SMS. */
export const codeRoutes = (deps: UiDeps): Route[] => [
  route({
    method: 'get',
    path: '/ui/code',
    docs: pageDocs('Wait for the link or the code of a message'),
    async handle({ req, res }) {
      const caller = deps.pages.open(req, res)
      const sent = openSent(deps.state, caller.browser, textOf(req.query['sent']))
      if (sent === null) return deps.pages.redirect(deps.pages.path('', caller.context))
      const person = await deps.progress.personOf(caller.browser)
      // The message has already been used; this is a reload or another tab.
      if (person !== null && person.session.createdAt.getTime() > sent.at)
        return deps.progress.next(person, proved(caller.context))
      return (await goOnIfConfirmed(deps, req, res, caller, sent)) ?? showCode(deps, caller, sent)
    },
  }),
  route({
    method: 'get',
    path: '/ui/code/status',
    docs: pageDocs('Whether the link was confirmed on another device'),
    async handle({ req, res }) {
      const caller = deps.pages.open(req, res)
      const sent = openSent(deps.state, caller.browser, textOf(req.query['sent']))
      const confirmed = sent !== null && (await waitingCode(deps, caller, sent)) !== null
      return { headers: { 'Cache-Control': 'no-store' }, body: { confirmed } }
    },
  }),
  route<undefined, PageForm>({
    method: 'post',
    path: '/ui/code',
    docs: pageDocs('Sign in with the code of an email or an SMS'),
    limit: deps.guard.limit(deps.limits.verify),
    body: pageForm,
    async handle({ req, res, body, context }) {
      const form = deps.pages.sent(req, 'code', body)
      const sent = sentOf(deps, form, form.text('sent'))
      const confirmed = await goOnIfConfirmed(deps, req, res, form, sent)
      if (confirmed !== null) return confirmed
      return orShow(
        form.t,
        context,
        async () => {
          const code = form.text('code').replaceAll(' ', '')
          if (code === '') throw new PageRefusal('invalid', 'code.missing')
          const verified = await deps.verifications.verify(
            {
              ...parseVerifyBody(proofOf(sent, code)),
              typist: { signUpId: deps.state.signUpId(sent.nonce) },
              answer: 'session',
            },
            deps.guard.metaOf(req),
          )
          if (verified.kind !== 'signed_in') throw new PageRefusal('invalid', 'code.useless')
          const { signedIn } = verified
          const context = nextOf(sent, form.context)
          // The code belongs to another sign-up, which may be a stranger's, so its password was not applied.
          const next = isSignUp(sent) && signedIn.user.passwordHash === null ? 'password' : context.next
          return deps.progress.signedIn(res, form.browser, { ...context, next }, signedIn)
        },
        (refusal) => showCode(deps, form, sent, refusal),
      )
    },
  }),
  route<undefined, PageForm>({
    method: 'post',
    path: '/ui/code/resend',
    docs: pageDocs('Send the message again'),
    limit: deps.guard.limit(deps.limits.otp('/resend')),
    body: pageForm,
    handle({ req, body, context }) {
      const form = deps.pages.sent(req, 'code', body)
      const sent = sentOf(deps, form, form.text('sent'))
      return orShow(
        form.t,
        context,
        async () => {
          await sendMessage(deps, form, sent, deps.guard.metaOf(req))
          return toCode(deps, form, { ...sent, again: true })
        },
        (refusal) => showCode(deps, form, { ...sent, ...nextTime(deps, refusal) }, refusal),
      )
    },
  }),
]

/** When the message can be requested again, if the refusal says so. */
const nextTime = ({ now }: UiDeps, { retryAfterSeconds: seconds }: Refusal) =>
  seconds === undefined ? {} : { nextAt: now().getTime() + seconds * 1000 }

type Message = Omit<SentMessage, 'at' | 'nextAt'>

/** Redirects to the page that waits for this message. It is the same whether or not one was sent. */
export function toCode(
  { pages, state, now, messageIntervals }: UiDeps,
  { browser, context }: Caller,
  { kind, address, nonce, again }: Message,
  { retryAfterSeconds }: Partial<Pick<Refusal, 'retryAfterSeconds'>> = {},
): Answer {
  const at = now().getTime()
  // If this request came too soon, the last message is still on its way.
  const waitMs = retryAfterSeconds === undefined ? messageIntervals[kind] : retryAfterSeconds * 1000
  const sent = sealSent(state, browser, {
    kind,
    address,
    nonce,
    at,
    nextAt: at + waitMs,
    ...(again ? { again } : {}),
  })
  return pages.redirect(pages.path('/code', proved(context), { sent }))
}

function sentOf({ state }: UiDeps, { browser }: Caller, sealed: string): SentMessage {
  const sent = openSent(state, browser, sealed)
  if (sent === null) throw new PageRefusal('invalid', 'error.incomplete-form')
  return sent
}

const proofOf = ({ kind, address }: SentMessage, token: string) => {
  if (!isEmail(kind)) return { type: 'sms', token, phone: address }
  return { type: kind === 'recovery' ? 'recovery' : 'email', token, email: address }
}

const isSignUp = ({ kind }: SentMessage): boolean => kind === 'sign_up' || kind === 'sms_sign_up'

const nextOf = ({ kind }: SentMessage, context: SignInContext): SignInContext =>
  kind === 'recovery' ? { ...context, next: 'password' } : context

/** The code that a confirmed link has left for this browser; null before that. */
async function waitingCode({ state, flowExchanges }: UiDeps, caller: Caller, sent: SentMessage) {
  const context = proved(nextOf(sent, caller.context))
  const code = state.confirmedCode(state.challenge(caller.browser, context), sent.nonce)
  return (await flowExchanges.isWaiting(code)) ? { code, context } : null
}

/** Signs in if the person confirmed the link on another device in the meantime. */
async function goOnIfConfirmed(
  deps: UiDeps,
  req: Request,
  res: Response,
  caller: Caller,
  sent: SentMessage,
): Promise<Answer | null> {
  const waiting = await waitingCode(deps, caller, sent)
  if (waiting === null) return null
  const flow = {
    auth_code: waiting.code,
    code_verifier: deps.state.verifier(caller.browser, waiting.context),
  }
  const exchanged = await deps.flowExchanges
    .exchange(flow, deps.guard.metaOf(req))
    .catch((error: unknown) => {
      // Another tab of this browser was faster.
      if (isAppError(error) && error.code === 'flow_state_not_found') return null
      throw error
    })
  return exchanged && deps.progress.signedIn(res, caller.browser, waiting.context, exchanged.signedIn)
}

function showCode(deps: UiDeps, caller: Caller, sent: SentMessage, refusal: Partial<Refusal> = {}): Answer {
  const { pages, state, now } = deps
  const sealed = sealSent(state, caller.browser, sent)
  const fields = pages.fields(caller, 'code', { sent: sealed })
  const waitMs = sent.nextAt - now().getTime()
  const context = proved(nextOf(sent, caller.context))
  const page = codePage(caller.t, {
    sent,
    notice: refusal.notice,
    fault: faultOf(refusal.code, FIELDS),
    number:
      deps.linksMayGoOn && isEmail(sent.kind)
        ? state.matchingNumber(state.challenge(caller.browser, context), sent.nonce)
        : null,
    statusUrl: pages.path('/code/status', caller.context, { sent: sealed }),
    selfUrl: pages.path('/code', caller.context, { sent: sealed }),
    waitSeconds: Math.max(0, Math.ceil(waitMs / 1000)),
    form: { action: pages.action('/code'), fields },
    resend: { action: pages.action('/code/resend'), fields },
    signIn: pages.path('', caller.context),
  })
  return pages.render(caller.t, page, refusal)
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
