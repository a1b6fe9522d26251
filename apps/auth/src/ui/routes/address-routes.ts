import { route, type Answer, type Route } from '@signet/http'
import { captchaAnswer } from '../captcha-answer.js'
import { pageDocs, pageForm, type Caller, type PageForm } from '../desk.js'
import { ownFlow } from '../own-flow.js'
import { forgotPage, phonePage, type AddressView } from '../pages/address-page.js'
import { orShow, type Refusal } from '../refusals.js'
import { type UiDeps } from '../ui-deps.js'
import { addressOf } from '../ways-in.js'
import { showCode } from './code-routes.js'

type Extras = Partial<Refusal> & { address?: string }

/** A forgotten password: a link by mail, which ends in choosing a new one. */
export const forgotRoutes = (deps: UiDeps): Route[] => [
  route({
    method: 'get',
    path: '/ui/forgot',
    docs: pageDocs('Ask for a link to choose a new password'),
    handle: ({ req, res }) => show(deps, 'forgot', deps.desk.open(req, res)),
  }),
  route<undefined, PageForm>({
    method: 'post',
    path: '/ui/forgot',
    docs: pageDocs('Ask for a link to choose a new password'),
    limit: deps.guard.limit(deps.limits.otp('/recover')),
    body: pageForm,
    handle({ req, body, context }) {
      const sent = deps.desk.sent(req, 'forgot', body)
      const email = sent.text('email').trim()
      const mailed = () => showCode(deps, sent, { kind: 'recovery', address: email })
      return orShow(
        context,
        async () => {
          await deps.guard.captcha(req, captchaAnswer(sent))
          const flow = ownFlow(deps, sent, { ...sent.visit, next: 'password' })
          await deps.recoveries.recover(
            { email, ...flow.challenge },
            { aud: deps.aud, redirectTo: flow.redirectTo },
            deps.guard.metaOf(req),
          )
          return mailed()
        },
        (refusal) =>
          // Too soon after the last one: only an address that has an account can be, so it looks like the rest.
          refusal.code === 'over_email_send_rate_limit'
            ? mailed()
            : show(deps, 'forgot', sent, { ...refusal, address: email }),
      )
    },
  }),
]

/** Signing in with a code by SMS. */
export const phoneRoutes = (deps: UiDeps): Route[] => [
  route({
    method: 'get',
    path: '/ui/phone',
    docs: pageDocs('Ask for a code by SMS'),
    handle: ({ req, res }) => show(deps, 'phone', deps.desk.open(req, res)),
  }),
  route<undefined, PageForm>({
    method: 'post',
    path: '/ui/phone',
    docs: pageDocs('Ask for a code by SMS'),
    limit: deps.guard.limit(deps.limits.otp('/otp')),
    body: pageForm,
    handle({ req, body, context }) {
      const sent = deps.desk.sent(req, 'phone', body)
      const address = addressOf({ ...deps.ways, email: false }, sent.text('phone').trim())
      const phone = 'phone' in address ? address.phone : address.email
      const messaged = () => showCode(deps, sent, { kind: 'sms', address: phone })
      return orShow(
        context,
        async () => {
          await deps.guard.captcha(req, captchaAnswer(sent))
          const where = { aud: deps.aud, redirectTo: deps.returnUrl, unknown: 'ignore' } as const
          await deps.otps.send({ phone }, where, deps.guard.metaOf(req))
          return messaged()
        },
        (refusal) =>
          refusal.code === 'over_sms_send_rate_limit'
            ? messaged()
            : show(deps, 'phone', sent, { ...refusal, address: phone }),
      )
    },
  }),
]

const pages: Readonly<Record<'forgot' | 'phone', (view: AddressView) => ReturnType<typeof forgotPage>>> = {
  forgot: forgotPage,
  phone: phonePage,
}

function show(
  { desk, ways }: UiDeps,
  which: keyof typeof pages,
  caller: Caller,
  { address = '', ...refusal }: Extras = {},
): Answer {
  const page = pages[which]({
    ways,
    address,
    ...(refusal.notice === undefined ? {} : { notice: refusal.notice }),
    form: { action: desk.action(`/${which}`), fields: desk.fields(caller, which) },
    signIn: desk.path('', caller.visit),
  })
  return desk.page(page, refusal)
}
