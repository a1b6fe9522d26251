import { route, type Answer, type Route } from '@signet/http'
import type { Request, Response } from 'express'
import type { KeyedLimit } from '../../rate-limits/rate-limits.js'
import type { Factor } from '../../users/user.js'
import { pageDocs, pageForm, type Caller, type PageForm, type Sent } from '../context/sign-in-pages.js'
import { passkeyScript } from '../passkey-script.js'
import { factorPage } from '../pages/factor-page.js'
import type { Person } from '../context/progress.js'
import { credentialOf } from '../context/credential-of.js'
import { faultOf, orShow, type Refusal } from '../context/refusals.js'
import type { UiDeps } from '../context/ui-deps.js'

/** Names of the form fields, by the subject of a refusal. */
const FIELDS = { code: 'code' }

/** Asks for the second factor of accounts that have one. */
export const factorRoutes = (deps: UiDeps): Route[] => [
  route({
    method: 'get',
    path: '/ui/factor',
    docs: pageDocs('Confirm with a second factor'),
    async handle({ req, res }) {
      const caller = deps.pages.open(req, res)
      const { factor } = req.query
      const found = await findOpen(deps, caller, typeof factor === 'string' ? factor : '')
      return found === null
        ? deps.pages.redirect(deps.pages.path('', caller.context))
        : show(deps, caller, found, { req })
    },
  }),
  factorForm(deps, {
    path: '/ui/factor/send',
    summary: 'Send a code to a phone',
    limit: deps.limits.mfaChallenge,
    async work({ req, res, sent, found: { person, factor } }) {
      const { id } = await deps.challenges.challenge(person, factor.id, undefined, deps.guard.metaOf(req))
      const challenge = { id, factorId: factor.id }
      deps.state.remember(res, sent.browser, { ...person.mark, challenge })
      return deps.pages.redirect(deps.pages.path('/factor', sent.context, { factor: factor.id }))
    },
  }),
  factorForm(deps, {
    path: '/ui/factor',
    summary: 'Answer with the code of a factor',
    limit: deps.limits.mfaVerify,
    async work({ req, res, sent, found }) {
      const { person, factor } = found
      const challenge_id = await challengeOf(deps, req, sent, found)
      const answer =
        factor.factorType === 'webauthn'
          ? { challenge_id, webauthn: { type: 'request', credential_response: credentialOf(sent) } }
          : { challenge_id, code: sent.text('code').replaceAll(' ', '') }
      const signedIn = await deps.challenges.verify(person, factor.id, answer, deps.guard.metaOf(req))
      return deps.progress.signedIn(res, sent.browser, sent.context, signedIn)
    },
  }),
]

type FactorForm = {
  path: string
  summary: string
  limit: KeyedLimit
  work: (step: { req: Request; res: Response; sent: Sent; found: Open }) => Promise<Answer>
}

/** A form for one factor; redirects to the first page when no factor is required. */
const factorForm = (deps: UiDeps, { path, summary, limit, work }: FactorForm): Route =>
  route<undefined, PageForm>({
    method: 'post',
    path,
    docs: pageDocs(summary),
    limit: deps.guard.limit(limit),
    body: pageForm,
    async handle({ req, res, body, context }) {
      const sent = deps.pages.sent(req, 'factor', body)
      const found = await findOpen(deps, sent, sent.text('factor'))
      if (found === null) return deps.pages.redirect(deps.pages.path('', sent.context))
      return orShow(
        sent.t,
        context,
        () => work({ req, res, sent, found }),
        (refusal) => show(deps, sent, found, { req, refusal }),
      )
    },
  })

type Open = { person: Person; factor: Factor; all: readonly Factor[] }

/** The requested factor, or the first one; null when none is required. */
async function findOpen({ progress }: UiDeps, { browser }: Caller, wanted: string): Promise<Open | null> {
  const person = await progress.personOf(browser)
  const all = person === null ? [] : progress.openFactors(person)
  const factor = all.find(({ id }) => id === wanted) ?? all[0]
  return person === null || factor === undefined ? null : { person, factor, all }
}

/**
 * The challenge of an authenticator app is created when the code is submitted, because nothing has to be sent before. That of a security
 * key is in its page, so that a second tab does not change what the first one asked for.
 */
async function challengeOf(
  { challenges, guard, limits }: UiDeps,
  req: Request,
  sent: Sent,
  { person, factor }: Open,
): Promise<string> {
  if (factor.factorType === 'webauthn') return sent.text('challenge')
  if (factor.factorType === 'phone')
    return person.mark.challenge?.factorId === factor.id ? person.mark.challenge.id : ''
  await guard.limit(limits.mfaChallenge)(req)
  const { id } = await challenges.challenge(person, factor.id, undefined, guard.metaOf(req))
  return id
}

/** The page itself asks for a security key, so each page gets a new challenge: one works only once. */
async function keyView({ challenges, guard, limits, pages }: UiDeps, { person, factor }: Open, req: Request) {
  if (factor.factorType !== 'webauthn') return null
  await guard.limit(limits.mfaChallenge)(req)
  const { id, webauthn } = await challenges.challenge(person, factor.id, undefined, guard.metaOf(req))
  const options = webauthn?.credential_options.publicKey ?? {}
  return { challenge: id, options, script: passkeyScript.at(pages.action('/passkey.js')) }
}

async function show(
  deps: UiDeps,
  caller: Caller,
  found: Open,
  { req, refusal = {} }: { req: Request; refusal?: Partial<Refusal> },
): Promise<Answer> {
  const { pages } = deps
  const { person, factor, all } = found
  const isPhone = factor.factorType === 'phone'
  const key = await keyView(deps, found, req)
  const fields = pages.fields(caller, 'factor', {
    factor: factor.id,
    ...(key && { challenge: key.challenge }),
  })
  const page = factorPage(caller.t, {
    factor,
    codeExpected: factor.factorType === 'totp' || (isPhone && person.mark.challenge?.factorId === factor.id),
    key,
    others: all
      .filter(({ id }) => id !== factor.id)
      .map((other) => ({ factor: other, href: pages.path('/factor', caller.context, { factor: other.id }) })),
    ...(refusal.notice === undefined ? {} : { notice: refusal.notice }),
    fault: faultOf(refusal.code, FIELDS),
    recovery: pages.path('/factor/recovery', caller.context),
    verify: { action: pages.action('/factor'), fields },
    send: { action: pages.action('/factor/send'), fields },
    signOut: { action: pages.action('/sign-out'), fields: pages.fields(caller, 'account') },
  })
  return pages.render(caller.t, page, refusal)
}
