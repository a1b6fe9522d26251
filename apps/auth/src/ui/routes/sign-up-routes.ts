import { route, type Answer, type Route } from '@signet/http'
import { captchaAnswer } from '../context/captcha-answer.js'
import { pageDocs, pageForm, type Caller, type PageForm } from '../context/sign-in-pages.js'
import { emailFlow } from '../context/own-flow.js'
import { signUpPage } from '../pages/sign-up-page.js'
import { credentialsForm, type Attempt } from '../context/credentials-form.js'
import { orShow } from '../context/refusals.js'
import type { UiDeps } from '../context/ui-deps.js'
import { addressOf } from '../context/ways-in.js'
import { newNonce } from '../context/sent-message.js'
import { toWaiting } from './ask-for-message.js'

/** Sign-up, if the settings allow it. */
export const signUpRoutes = (deps: UiDeps): Route[] => [
  route({
    method: 'get',
    path: '/ui/sign-up',
    docs: pageDocs('Create an account'),
    handle: ({ req, res }) => showSignUp(deps, deps.pages.open(req, res)),
  }),
  route<undefined, PageForm>({
    method: 'post',
    path: '/ui/sign-up',
    docs: pageDocs('Create an account'),
    limit: deps.guard.limit(deps.limits.otp('/signup')),
    body: pageForm,
    handle({ req, res, body, context }) {
      const sent = deps.pages.sent(req, 'sign-up', body)
      const identifier = sent.text('identifier').trim()
      const address = addressOf(deps.ways, identifier)
      const [kind, to, tooSoon] =
        'phone' in address
          ? (['sms_sign_up', address.phone, 'over_sms_send_rate_limit'] as const)
          : (['sign_up', address.email, 'over_email_send_rate_limit'] as const)
      const password = sent.text('password')
      const message = { kind, address: to, password, nonce: newNonce() } as const
      return orShow(
        sent.t,
        context,
        async () => {
          await deps.guard.captcha(req, captchaAnswer(sent))
          const meta = deps.guard.metaOf(req)
          const { challenge, redirectTo } = emailFlow(deps, sent, sent.context, message.nonce, meta)
          const result = await deps.signUps.signUp(
            { ...address, password, ...('phone' in address ? {} : challenge) },
            { aud: deps.aud, redirectTo, signUpId: deps.state.signUpId(message.nonce) },
            meta,
          )
          if (result.kind === 'pending') return toWaiting(deps, { req, res, sent }, message)
          return deps.progress.signedIn(res, sent.browser, sent.context, result.signedIn)
        },
        (refusal) =>
          refusal.code === tooSoon
            ? toWaiting(deps, { req, res, sent }, message, refusal)
            : showSignUp(deps, sent, { ...refusal, identifier }),
      )
    },
  }),
]

function showSignUp(
  { pages, ways, minPasswordLength }: UiDeps,
  caller: Caller,
  attempt: Attempt = {},
): Answer {
  const page = signUpPage(caller.t, {
    ways,
    ...credentialsForm(caller, attempt),
    minPasswordLength,
    form: { action: pages.action('/sign-up'), fields: pages.fields(caller, 'sign-up') },
    signIn: pages.path('', caller.context),
  })
  return pages.render(caller.t, page, attempt)
}
