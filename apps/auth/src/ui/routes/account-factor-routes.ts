import { route, type Answer, type Route } from '@signet/http'
import { qrCodeSvg } from '../../factors/qr-code.js'
import { hasVerifiedFactor } from '../../users/user.js'
import { isUuid } from '../../users/uuid.js'
import { backToAccount, forPerson } from '../context/account-person.js'
import type { Person } from '../context/progress.js'
import { faultOf, orShow, PageRefusal, type Refusal } from '../context/refusals.js'
import { pageDocs, pageForm, type Caller, type PageForm } from '../context/sign-in-pages.js'
import type { UiDeps } from '../context/ui-deps.js'
import { authenticatorPage, recoveryCodesPage, recoveryPage } from '../pages/account-factor-pages.js'
import { showHome } from './account-home-routes.js'

const FIELDS = { code: 'code', address: 'name' }

/** An authenticator app that is being added. `until`: milliseconds since the epoch. */
type Setup = { factorId: string; secret: string; uri: string; until: number }

/** A setup as it is in the URL of its page, where the browser's history keeps it. */
type SealedSetup = Setup & { sealed: string }

/** Neither another browser nor another person or session opens it. */
const labelOf = ({ browser }: Caller, { user, session }: Person): string =>
  `authenticator ${browser.id} ${user.id} ${session.id}`

/** Second factors of the account page, and its recovery codes. */
export const accountFactorRoutes = (deps: UiDeps): Route[] => [
  ...(deps.account.totp ? authenticatorRoutes(deps) : []),
  route<undefined, PageForm>({
    method: 'post',
    path: '/ui/account/factor/remove',
    docs: pageDocs('Remove a second factor'),
    body: pageForm,
    handle({ req, body, context }) {
      const sent = deps.pages.sent(req, 'settings', body)
      return forPerson(deps, sent, (person) =>
        orShow(
          sent.t,
          context,
          async () => {
            const id = sent.text('factor')
            if (isUuid(id)) await deps.enrollments.unenroll(person, id, deps.guard.metaOf(req))
            return backToAccount(deps, sent, 'factor-removed')
          },
          (refusal) => showHome(deps, sent, person, refusal),
        ),
      )
    },
  }),
  ...recoveryCodeRoutes(deps),
]

const authenticatorRoutes = (deps: UiDeps): Route[] => [
  route({
    method: 'get',
    path: '/ui/account/authenticator',
    docs: pageDocs('Add an authenticator app'),
    handle({ req, res }) {
      const caller = deps.pages.open(req, res)
      return forPerson(deps, caller, (person) => {
        const { setup: sealed } = req.query
        if (sealed === undefined) return showAuthenticator(deps, caller, { setup: null })
        const setup = openSetup(deps, caller, person, sealed)
        return setup === null ? toAccount(deps, caller) : showAuthenticator(deps, caller, { setup })
      })
    },
  }),
  route<undefined, PageForm>({
    method: 'post',
    path: '/ui/account/authenticator',
    docs: pageDocs('Name an authenticator app, or prove it with a code'),
    limit: deps.guard.limit(deps.limits.mfaVerify),
    body: pageForm,
    handle({ req, res, body, context }) {
      const sent = deps.pages.sent(req, 'settings', body)
      const meta = deps.guard.metaOf(req)
      return forPerson(deps, sent, (person) => {
        const sealed = sent.text('setup')
        const setup = openSetup(deps, sent, person, sealed)
        if (setup === null && sealed !== '') return toAccount(deps, sent)
        return orShow(
          sent.t,
          context,
          async () => {
            if (setup === null) return begin(deps, sent, person, sent.text('name').trim(), meta)
            const challenge = await deps.challenges.challenge(person, setup.factorId, undefined, meta)
            const answer = { challenge_id: challenge.id, code: sent.text('code').replaceAll(' ', '') }
            const signedIn = await deps.challenges.verify(person, setup.factorId, answer, meta)
            await deps.progress.signedIn(res, sent.browser, sent.context, signedIn)
            return backToAccount(deps, sent, 'factor')
          },
          (refusal) => showAuthenticator(deps, sent, { setup, refusal, name: sent.text('name') }),
        )
      })
    },
  }),
]

async function begin(
  deps: UiDeps,
  caller: Caller,
  person: Person,
  name: string,
  meta: ReturnType<UiDeps['guard']['metaOf']>,
): Promise<Answer> {
  const enrolled = await deps.enrollments.enroll(person, { factor_type: 'totp', friendly_name: name }, meta)
  if (enrolled.type !== 'totp') throw new Error('another factor than was asked for')
  const { id: factorId, secret, uri } = enrolled
  const setup: Setup = { factorId, secret, uri, until: deps.now().getTime() + deps.account.setupMs }
  const sealed = deps.state.seal(labelOf(caller, person), setup)
  return deps.pages.redirect(deps.pages.path('/account/authenticator', caller.context, { setup: sealed }))
}

/** Null once the factor is verified or gone, so that nobody finds its secret in the history afterwards. */
function openSetup(
  { state, now }: UiDeps,
  caller: Caller,
  person: Person,
  sealed: unknown,
): SealedSetup | null {
  if (typeof sealed !== 'string') return null
  const setup = state.open<Setup>(labelOf(caller, person), sealed)
  if (setup === null || setup.until <= now().getTime()) return null
  const isPending = person.user.factors.some(
    ({ id, status }) => id === setup.factorId && status === 'unverified',
  )
  return isPending ? { ...setup, sealed } : null
}

const toAccount = ({ pages }: UiDeps, { context }: Caller): Answer =>
  pages.redirect(pages.path('/account', context))

type Shown = { setup: SealedSetup | null; refusal?: Refusal; name?: string }

function showAuthenticator(deps: UiDeps, caller: Caller, { setup, refusal, name = '' }: Shown): Answer {
  const { pages } = deps
  const more: Record<string, string> = setup === null ? {} : { setup: setup.sealed }
  const page = authenticatorPage(caller.t, {
    notice: refusal?.notice,
    fault: faultOf(refusal?.code, FIELDS),
    name,
    setup: setup && { secret: setup.secret, qrCode: qrCodeSvg(setup.uri) },
    form: { action: pages.action('/account/authenticator'), fields: pages.fields(caller, 'settings', more) },
    back: pages.path('/account', caller.context),
  })
  return pages.render(caller.t, page, refusal)
}

const recoveryCodeRoutes = (deps: UiDeps): Route[] => [
  route({
    method: 'get',
    path: '/ui/account/recovery-codes',
    docs: pageDocs('New recovery codes once, later how many are left'),
    handle({ req, res }) {
      const caller = deps.pages.open(req, res)
      return forPerson(deps, caller, (person) =>
        showCodes(deps, caller, person, {
          codes: deps.state.take<string[]>(req, res, codesLabel(caller, person)),
          made: req.query['made'] === '1',
        }),
      )
    },
  }),
  route<undefined, PageForm>({
    method: 'post',
    path: '/ui/account/recovery-codes',
    docs: pageDocs('Make new recovery codes'),
    limit: deps.guard.limit(deps.limits.mfaChallenge),
    body: pageForm,
    handle({ req, res, body, context }) {
      const sent = deps.pages.sent(req, 'settings', body)
      const toCodes = (more?: Record<string, string>) =>
        deps.pages.redirect(deps.pages.path('/account/recovery-codes', sent.context, more))
      return forPerson(deps, sent, (person) =>
        orShow(
          sent.t,
          context,
          async () => {
            const count = await deps.recoveryCodes.count(person.user.id)
            // A form that is sent twice must not void the codes of its first time.
            if ((count?.left ?? 0) > 0 && sent.text('replace') !== 'yes') return toCodes()
            const codes = await deps.recoveryCodes.replace(person, deps.guard.metaOf(req))
            deps.state.leave(res, codesLabel(sent, person), codes)
            return toCodes({ made: '1' })
          },
          (refusal) => showCodes(deps, sent, person, refusal),
        ),
      )
    },
  }),
  route({
    method: 'get',
    path: '/ui/factor/recovery',
    docs: pageDocs('Use a recovery code in place of a second factor'),
    handle({ req, res }) {
      const caller = deps.pages.open(req, res)
      return forFactor(deps, caller, () => showRecovery(deps, caller))
    },
  }),
  route<undefined, PageForm>({
    method: 'post',
    path: '/ui/factor/recovery',
    docs: pageDocs('Answer with a recovery code'),
    limit: deps.guard.limit(deps.limits.mfaVerify),
    body: pageForm,
    handle({ req, res, body, context }) {
      const sent = deps.pages.sent(req, 'factor', body)
      return forFactor(deps, sent, (person) =>
        orShow(
          sent.t,
          context,
          async () => {
            const code = sent.text('code')
            if (code.trim() === '') throw new PageRefusal('invalid', 'code.missing')
            const signedIn = await deps.recoveryCodes.verify(person, code, deps.guard.metaOf(req))
            return deps.progress.signedIn(res, sent.browser, sent.context, signedIn)
          },
          (refusal) => showRecovery(deps, sent, refusal),
        ),
      )
    },
  }),
]

/** Somebody who still has to show a second factor; others go on. */
async function forFactor(
  { pages, progress }: UiDeps,
  { browser, context }: Caller,
  work: (person: Person) => Answer | Promise<Answer>,
): Promise<Answer> {
  const person = await progress.personOf(browser)
  if (person === null || progress.openFactors(person).length === 0)
    return pages.redirect(pages.path('', context))
  return work(person)
}

const codesLabel = ({ browser }: Caller, { user, session }: Person): string =>
  `recovery codes ${browser.id} ${user.id} ${session.id}`

/** `made`: on the way back from the form that makes codes. */
type ShownCodes = Partial<Refusal> & { codes?: readonly string[] | null; made?: boolean }

async function showCodes(
  { pages, recoveryCodes }: UiDeps,
  caller: Caller,
  { user }: Person,
  { codes = null, made = false, ...refusal }: ShownCodes,
): Promise<Answer> {
  const count = await recoveryCodes.count(user.id)
  const page = recoveryCodesPage(caller.t, {
    notice: refusal.notice,
    codes,
    seen: made && codes === null,
    hasFactor: hasVerifiedFactor(user),
    left: count?.left ?? 0,
    form: { action: pages.action('/account/recovery-codes'), fields: pages.fields(caller, 'settings') },
    back: pages.path('/account', caller.context),
  })
  return pages.render(caller.t, page, refusal)
}

function showRecovery({ pages }: UiDeps, caller: Caller, refusal: Partial<Refusal> = {}): Answer {
  const page = recoveryPage(caller.t, {
    notice: refusal.notice,
    fault: refusal.notice === undefined ? undefined : 'code',
    form: { action: pages.action('/factor/recovery'), fields: pages.fields(caller, 'factor') },
    back: pages.path('/factor', caller.context),
  })
  return pages.render(caller.t, page, refusal)
}
