import { invalid } from '../../errors/auth-error.js'
import { route, type Answer, type Route } from '@signet/http'
import { isAskedAgain, reportText } from '../context/account-person.js'
import { outcomeIn } from '../context/outcome.js'
import { captchaAnswer } from '../context/captcha-answer.js'
import { pageDocs, pageForm, type Caller, type PageForm } from '../context/sign-in-pages.js'
import { passkeyScript } from '../passkey-script.js'
import { signInPage } from '../pages/sign-in-page.js'
import { showAccount } from './account-routes.js'
import { credentialsForm, type Attempt } from '../context/credentials-form.js'
import { orShow } from '../context/refusals.js'
import type { UiDeps } from '../context/ui-deps.js'
import { siteOf } from '../context/sign-in-context.js'
import { errorTarget } from '../context/client-answer.js'
import { addressOf } from '../context/ways-in.js'
import { askForMessage } from './ask-for-message.js'

/** The first page: sign in with a password or an emailed link, or see who is signed in. */
export const signInRoutes = (deps: UiDeps): Route[] => [
  route({
    method: 'get',
    path: '/ui',
    docs: pageDocs('Sign in, or see who is signed in'),
    async handle({ req, res }) {
      const caller = deps.pages.open(req, res)
      const { context } = caller
      const person = await deps.progress.personOf(caller.browser)
      if (context.prompt === 'none') {
        if (context.target === null) throw invalid('prompt=none needs redirect_to')
        await deps.guard.limit(deps.limits.token)(req)
        return deps.progress.silent(person, { ...context, target: context.target })
      }
      if (context.prompt === 'create' && deps.ways.signUp)
        return deps.pages.redirect(deps.pages.path('/sign-up', { ...context, prompt: null }))
      if (person === null || deps.progress.isStale(person, context)) return showSignIn(deps, caller)
      if (deps.progress.openFactors(person).length > 0)
        return deps.pages.redirect(deps.pages.path('/factor', caller.context))
      if (person.user.deletionDueAt !== null || context.next === 'account')
        return deps.progress.next(person, context)
      const done = reportText(caller.t, outcomeIn(deps, caller.browser, req), ['password'])
      return showAccount(deps, caller, person, { done })
    },
  }),
  route<undefined, PageForm>({
    method: 'post',
    path: '/ui/sign-in',
    docs: pageDocs('Sign in with a password'),
    limit: deps.guard.limit(deps.limits.token),
    body: pageForm,
    handle({ req, res, body, context }) {
      const sent = deps.pages.sent(req, 'sign-in', body)
      const identifier = sent.text('identifier').trim()
      return orShow(
        sent.t,
        context,
        async () => {
          await deps.guard.captcha(req, captchaAnswer(sent))
          const credentials = { ...addressOf(deps.ways, identifier), password: sent.text('password') }
          const { signedIn } = await deps.guard.sparing(deps.limits.token, req, () =>
            deps.passwords.signIn(credentials, deps.guard.metaOf(req)),
          )
          return deps.progress.signedIn(res, sent.browser, sent.context, signedIn)
        },
        (refusal) => showSignIn(deps, sent, { ...refusal, identifier }),
      )
    },
  }),
  mailRoute(deps),
]

/** This is a second button of the sign-in form, so it carries that form's token. */
const mailRoute = (deps: UiDeps): Route =>
  route<undefined, PageForm>({
    method: 'post',
    path: '/ui/mail',
    docs: pageDocs('Ask for a sign-in link by email'),
    limit: deps.guard.limit(deps.limits.otp('/magiclink')),
    body: pageForm,
    handle({ req, res, body, context }) {
      const sent = deps.pages.sent(req, 'sign-in', body)
      const identifier = sent.text('identifier').trim()
      const message = { kind: 'email', address: identifier } as const
      return askForMessage(deps, { req, res, sent, context }, message, (refusal) =>
        showSignIn(deps, sent, { ...refusal, identifier }),
      )
    },
  })

async function passkeyView({ pages, passkeySignIns }: UiDeps, caller: Caller) {
  const { challenge, options } = await passkeySignIns.options()
  return {
    script: passkeyScript.at(pages.action('/passkey.js')),
    action: pages.action('/passkey'),
    fields: pages.fields(caller, 'passkey', { challenge: challenge.id }),
    options,
  }
}

/** Shows the sign-in page, also after a failed attempt. */
export async function showSignIn(deps: UiDeps, caller: Caller, attempt: Attempt = {}): Promise<Answer> {
  const { pages, ways } = deps
  const { context } = caller
  const page = signInPage(caller.t, {
    ways,
    ...credentialsForm(caller, attempt),
    site: siteOf(caller.t, context),
    askedAgain: isAskedAgain(context),
    form: {
      action: pages.action('/sign-in'),
      mailAction: pages.action('/mail'),
      fields: pages.fields(caller, 'sign-in'),
    },
    passkey: ways.passkey ? await passkeyView(deps, caller) : null,
    provider: { action: pages.action('/provider'), fields: pages.fields(caller, 'provider') },
    links: {
      cancel:
        context.target === null ? null : errorTarget({ ...context, target: context.target }, 'access_denied'),
      forgot: pages.path('/forgot', context),
      signUp: pages.path('/sign-up', context),
      phone: pages.path('/phone', context),
    },
  })
  return pages.render(caller.t, page, attempt)
}
