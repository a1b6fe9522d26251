import { route, type Answer, type Route } from '@signet/http'
import { type Response } from 'express'
import { captchaAnswer } from '../captcha-answer.js'
import { pageDocs, pageForm, type Caller, type PageForm, type Sent } from '../desk.js'
import { ownFlow } from '../own-flow.js'
import { signInPage } from '../pages/sign-in-page.js'
import { accountPage } from '../pages/account-page.js'
import { type Person } from '../progress.js'
import { orShow, type Refusal } from '../refusals.js'
import { type UiDeps } from '../ui-deps.js'
import { siteOf } from '../visit.js'
import { addressOf } from '../ways-in.js'
import { showCode } from './code-routes.js'

/** The first page: sign in with a password or a mailed link, or see who is signed in. */
export const signInRoutes = (deps: UiDeps): Route[] => [
  route({
    method: 'get',
    path: '/ui',
    docs: pageDocs('Sign in, or see who is signed in'),
    async handle({ req, res }) {
      const caller = deps.desk.open(req, res)
      const person = await deps.progress.personOf(caller.browser)
      if (person === null) return showSignIn(deps, caller)
      if (deps.progress.openFactors(person).length > 0)
        return deps.desk.redirect(deps.desk.path('/factor', caller.visit))
      return showAccount(deps, caller, person)
    },
  }),
  route<undefined, PageForm>({
    method: 'post',
    path: '/ui/sign-in',
    docs: pageDocs('Sign in with a password'),
    limit: deps.guard.limit(deps.limits.token),
    body: pageForm,
    handle({ req, res, body, context }) {
      const sent = deps.desk.sent(req, 'sign-in', body)
      const identifier = sent.text('identifier').trim()
      return orShow(
        context,
        async () => {
          await deps.guard.captcha(req, captchaAnswer(sent))
          const credentials = { ...addressOf(deps.ways, identifier), password: sent.text('password') }
          const { signedIn } = await deps.passwords.signIn(credentials, deps.guard.metaOf(req))
          return deps.progress.signedIn(res, sent.browser, sent.visit, signedIn)
        },
        (refusal) => showSignIn(deps, sent, { ...refusal, identifier }),
      )
    },
  }),
  mailRoute(deps),
  route<undefined, PageForm>({
    method: 'post',
    path: '/ui/continue',
    docs: pageDocs('Go on to the application as the person who is signed in'),
    body: pageForm,
    async handle({ req, res, body }) {
      const sent = deps.desk.sent(req, 'account', body)
      const person = await deps.progress.personOf(sent.browser)
      return person === null ? toSignIn(deps, res, sent) : deps.progress.next(res, person, sent.visit)
    },
  }),
  route<undefined, PageForm>({
    method: 'post',
    path: '/ui/sign-out',
    docs: pageDocs('Sign out'),
    body: pageForm,
    async handle({ req, res, body }) {
      const sent = deps.desk.sent(req, 'account', body)
      const person = await deps.progress.personOf(sent.browser)
      if (person !== null) await deps.sessions.logout(person, 'local', deps.guard.metaOf(req))
      return toSignIn(deps, res, sent)
    },
  }),
]

/** A second button of the sign-in form, so it carries that form's token. */
const mailRoute = (deps: UiDeps): Route =>
  route<undefined, PageForm>({
    method: 'post',
    path: '/ui/mail',
    docs: pageDocs('Ask for a sign-in link by mail'),
    limit: deps.guard.limit(deps.limits.otp('/magiclink')),
    body: pageForm,
    handle({ req, body, context }) {
      const sent = deps.desk.sent(req, 'sign-in', body)
      const identifier = sent.text('identifier').trim()
      return orShow(
        context,
        async () => {
          await deps.guard.captcha(req, captchaAnswer(sent))
          await mailLink(deps, sent, identifier, deps.guard.metaOf(req))
          return showCode(deps, sent, { kind: 'email', address: identifier })
        },
        (refusal) =>
          // Too soon after the last one: only an address that has an account can be, so it looks like the rest.
          refusal.code === 'over_email_send_rate_limit'
            ? showCode(deps, sent, { kind: 'email', address: identifier })
            : showSignIn(deps, sent, { ...refusal, identifier }),
      )
    },
  })

async function mailLink(
  deps: UiDeps,
  sent: Sent,
  email: string,
  meta: ReturnType<UiDeps['guard']['metaOf']>,
): Promise<void> {
  const { challenge, redirectTo } = ownFlow(deps, sent, sent.visit)
  const where = { aud: deps.aud, redirectTo, unknown: 'ignore' } as const
  await deps.otps.sendMagicLink({ email, ...challenge }, where, meta)
}

/** The sign-in page, also with what became of an attempt. */
export function showSignIn(
  { desk, ways }: UiDeps,
  caller: Caller,
  { identifier = '', ...refusal }: Partial<Refusal> & { identifier?: string } = {},
): Answer {
  const { visit } = caller
  const page = signInPage({
    ways,
    identifier,
    ...(refusal.notice === undefined ? {} : { notice: refusal.notice }),
    site: siteOf(visit),
    form: {
      action: desk.action('/sign-in'),
      mailAction: desk.action('/mail'),
      fields: desk.fields(caller, 'sign-in'),
    },
    provider: { action: desk.action('/provider'), fields: desk.fields(caller, 'provider') },
    links: {
      forgot: desk.path('/forgot', visit),
      signUp: desk.path('/sign-up', visit),
      phone: desk.path('/phone', visit),
    },
  })
  return desk.page(page, refusal)
}

function showAccount({ desk }: UiDeps, caller: Caller, { user }: Person): Answer {
  const fields = desk.fields(caller, 'account')
  const page = accountPage({
    address: user.email ?? user.phone ?? 'a guest',
    site: siteOf(caller.visit),
    proceed: { action: desk.action('/continue'), fields },
    signOut: { action: desk.action('/sign-out'), fields },
    password: desk.path('/password', caller.visit),
  })
  return desk.page(page)
}

/** Back to the first page with nobody signed in. */
function toSignIn({ desk, state }: UiDeps, res: Response, { visit }: Pick<Caller, 'visit'>): Answer {
  state.forget(res)
  return desk.redirect(desk.path('', { ...visit, next: null }))
}
