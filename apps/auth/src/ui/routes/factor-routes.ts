import { route, type Answer, type Route } from '@signet/http'
import { type Factor } from '../../users/user.js'
import { pageDocs, pageForm, type Caller, type PageForm, type Sent } from '../desk.js'
import { factorPage } from '../pages/factor-page.js'
import { type Person } from '../progress.js'
import { orShow, type Refusal } from '../refusals.js'
import { type UiDeps } from '../ui-deps.js'

/** The second factor, for accounts that have one. */
export const factorRoutes = (deps: UiDeps): Route[] => [
  route({
    method: 'get',
    path: '/ui/factor',
    docs: pageDocs('Confirm with a second factor'),
    async handle({ req, res }) {
      const caller = deps.desk.open(req, res)
      const { factor } = req.query
      const found = await findOpen(deps, caller, typeof factor === 'string' ? factor : '')
      return found === null ? deps.desk.redirect(deps.desk.path('', caller.visit)) : show(deps, caller, found)
    },
  }),
  route<undefined, PageForm>({
    method: 'post',
    path: '/ui/factor/send',
    docs: pageDocs('Send a code to a phone'),
    limit: deps.guard.limit(deps.limits.mfaChallenge),
    body: pageForm,
    async handle({ req, res, body, context }) {
      const { sent, found } = await readForm(deps, req, body)
      if (found === null) return deps.desk.redirect(deps.desk.path('', sent.visit))
      return orShow(
        context,
        async () => {
          const meta = deps.guard.metaOf(req)
          const { id } = await deps.challenges.challenge(found.person, found.factor.id, undefined, meta)
          const challenge = { id, factorId: found.factor.id }
          deps.state.remember(res, sent.browser, { ...found.person.mark, challenge })
          return deps.desk.redirect(deps.desk.path('/factor', sent.visit, { factor: found.factor.id }))
        },
        (refusal) => show(deps, sent, found, refusal),
      )
    },
  }),
  route<undefined, PageForm>({
    method: 'post',
    path: '/ui/factor',
    docs: pageDocs('Answer with the code of a factor'),
    limit: deps.guard.limit(deps.limits.mfaVerify),
    body: pageForm,
    async handle({ req, res, body, context }) {
      const { sent, found } = await readForm(deps, req, body)
      if (found === null) return deps.desk.redirect(deps.desk.path('', sent.visit))
      return orShow(
        context,
        async () => {
          const { person, factor } = found
          const meta = deps.guard.metaOf(req)
          const answer = {
            challenge_id: await challengeOf(deps, req, found),
            code: sent.text('code').replaceAll(' ', ''),
          }
          const signedIn = await deps.challenges.verify(person, factor.id, answer, meta)
          return deps.progress.signedIn(res, sent.browser, sent.visit, signedIn)
        },
        (refusal) => show(deps, sent, found, refusal),
      )
    },
  }),
]

type Open = { person: Person; factor: Factor; all: readonly Factor[] }

/** The factor that is asked for, or the first; null for somebody with nothing left to prove. */
async function findOpen({ progress }: UiDeps, { browser }: Caller, wanted: string): Promise<Open | null> {
  const person = await progress.personOf(browser)
  const all = person === null ? [] : progress.openFactors(person)
  const factor = all.find(({ id }) => id === wanted) ?? all[0]
  return person === null || factor === undefined ? null : { person, factor, all }
}

async function readForm(
  deps: UiDeps,
  req: Parameters<UiDeps['desk']['sent']>[0],
  body: PageForm,
): Promise<{ sent: Sent; found: Open | null }> {
  const sent = deps.desk.sent(req, 'factor', body)
  return { sent, found: await findOpen(deps, sent, sent.text('factor')) }
}

/** An authenticator has nothing to send, so its challenge is made together with the answer. */
async function challengeOf(
  { challenges, guard, limits }: UiDeps,
  req: Parameters<UiDeps['desk']['sent']>[0],
  { person, factor }: Open,
): Promise<string> {
  if (factor.factorType === 'phone')
    return person.mark.challenge?.factorId === factor.id ? person.mark.challenge.id : ''
  await guard.limit(limits.mfaChallenge)(req)
  const { id } = await challenges.challenge(person, factor.id, undefined, guard.metaOf(req))
  return id
}

function show(
  { desk }: UiDeps,
  caller: Caller,
  { person, factor, all }: Open,
  refusal: Partial<Refusal> = {},
): Answer {
  const fields = desk.fields(caller, 'factor', { factor: factor.id })
  const page = factorPage({
    factor,
    codeExpected: factor.factorType === 'totp' || person.mark.challenge?.factorId === factor.id,
    others: all
      .filter(({ id }) => id !== factor.id)
      .map((other) => ({ factor: other, href: desk.path('/factor', caller.visit, { factor: other.id }) })),
    ...(refusal.notice === undefined ? {} : { notice: refusal.notice }),
    verify: { action: desk.action('/factor'), fields },
    send: { action: desk.action('/factor/send'), fields },
    signOut: { action: desk.action('/sign-out'), fields: desk.fields(caller, 'account') },
  })
  return desk.page(page, refusal)
}
