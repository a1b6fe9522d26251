import { route, type Answer, type Route } from '@signet/http'
import type { ShownActivity } from '../../account/shown-activity.js'
import { isUuid } from '../../users/uuid.js'
import { backToAccount, forPerson, onceProved, reportText } from '../context/account-person.js'
import { deviceOf } from '../../requests/device.js'
import { deviceText } from '../context/device-name.js'
import { nameOf } from '../context/name-of.js'
import { outcomeIn } from '../context/outcome.js'
import { ownFlow } from '../context/own-flow.js'
import type { Person } from '../context/progress.js'
import { PageRefusal } from '../context/refusals.js'
import { siteName } from '../context/sign-in-context.js'
import { pageDocs, type Caller } from '../context/sign-in-pages.js'
import type { UiDeps } from '../context/ui-deps.js'
import { accountHomePage, type AccountHomeView } from '../pages/account-home-page.js'
import { isUiKey, type UiKey } from '../texts.js'
import { accountForm, type AccountForm } from './account-form.js'

/** The account page, and the changes that take a single click on it. */
export const accountHomeRoutes = (deps: UiDeps): Route[] => [
  route({
    method: 'get',
    path: '/ui/account',
    docs: pageDocs('The account of the person who is signed in'),
    handle({ req, res }) {
      const caller = deps.pages.open(req, res)
      return forPerson(deps, caller, (person) =>
        showHome(deps, caller, person, { done: reportText(caller.t, outcomeIn(deps, caller.browser, req)) }),
      )
    },
  }),
  route({
    method: 'get',
    path: '/ui/account/export',
    docs: pageDocs('Download what is stored about the account'),
    limit: deps.guard.limit(deps.limits.otp('/user')),
    handle({ req, res }) {
      const caller = deps.pages.open(req, res)
      return forPerson(deps, caller, async (person) => ({
        headers: {
          'Content-Disposition': 'attachment; filename="account.json"',
          'Content-Type': 'application/json; charset=utf-8',
          'Cache-Control': 'no-store',
          'X-Content-Type-Options': 'nosniff',
        },
        body: `${JSON.stringify(await deps.overviews.export(person), null, 2)}\n`,
      }))
    },
  }),
  homeForm(deps, '/ui/account/session/end', 'Sign out one session', async ({ sent, person, meta }) => {
    const id = sent.text('session')
    const ended = isUuid(id) ? await deps.overviews.endSignIn(person, id, meta) : null
    if (ended === null) throw new PageRefusal('not_found', 'me.session.over', 'not_found')
    return backToAccount(deps, sent, 'session', ended)
  }),
  homeForm(deps, '/ui/account/sessions/end', 'Sign out all other sessions', async ({ sent, person, meta }) =>
    backToAccount(deps, sent, 'sessions', await deps.overviews.endOtherSignIns(person, meta)),
  ),
  ...(deps.account.linking ? linkingRoutes(deps) : []),
]

const linkingRoutes = (deps: UiDeps): Route[] => [
  homeForm(deps, '/ui/account/unlink', 'Remove a sign-in method', async ({ sent, person, meta }) => {
    const identity = sent.text('identity')
    if (!person.user.identities.some(({ id }) => id === identity))
      throw new PageRefusal('not_found', 'refusal.identity_not_found', 'identity_not_found')
    return backToAccount(deps, sent, 'unlinked', await deps.identities.unlink(person, identity, meta))
  }),
  homeForm(deps, '/ui/account/link', 'Add a sign-in method', ({ sent, person, meta, res }) =>
    onceProved(deps, sent, person, async () => {
      // The form token and the flow's cookie bind the flow to this browser, so no further confirmation is needed.
      const { challenge, redirectTo } = ownFlow(deps, sent, { ...sent.context, next: 'account' })
      const query = { provider: sent.text('provider'), ...challenge }
      const departure = await deps.authorizations.begin({ query, redirectTo, linkingTarget: person }, meta)
      deps.flowCookies.give(res, departure)
      return deps.pages.redirect(departure.url)
    }),
  ),
]

/** A button on the account page, which also shows a refusal. */
export const homeForm = (
  deps: UiDeps,
  path: string,
  summary: string,
  work: AccountForm['work'],
  limit?: AccountForm['limit'],
): Route =>
  accountForm(deps, {
    path,
    summary,
    ...(limit && { limit }),
    work,
    refused: ({ sent, person }, refusal) => showHome(deps, sent, person, refusal),
  })

type Shown = { done?: string | undefined; notice?: string; status?: number; headers?: Record<string, string> }

/** Shows the account page, also after a refusal. */
export async function showHome(
  deps: UiDeps,
  caller: Caller,
  person: Person,
  { done, notice, ...answer }: Shown = {},
): Promise<Answer> {
  const { pages, overviews, passkeys, recoveryCodes, ways, account, siteUrl } = deps
  const { t } = caller
  const { user } = person
  const [signIns, activity, codes, held] = await Promise.all([
    overviews.openSignIns(user.id, person.session.signInId),
    overviews.recentActivity(user.id),
    recoveryCodes.count(user.id),
    ways.passkey ? passkeys.list(user.id) : [],
  ])
  const path = (below: string) => pages.path(`/account${below}`, { ...caller.context, next: null })
  const factors = user.factors.filter(({ status }) => status === 'verified')
  const page = accountHomePage(t, {
    address: nameOf(t, user),
    done,
    notice,
    email: ways.email ? { address: user.email, pending: user.newEmail, href: path('/email') } : null,
    phone: ways.phone ? { address: user.phone, pending: user.newPhone, href: path('/phone') } : null,
    password:
      user.email === null && user.phone === null
        ? null
        : {
            isSet: user.passwordHash !== null,
            href: pages.path('/password', { ...caller.context, next: 'account' }),
          },
    passkeys: ways.passkey
      ? { held, add: user.isAnonymous || user.isSsoUser ? null : path('/passkey') }
      : null,
    factors,
    addFactors: user.isAnonymous
      ? []
      : ADD_FACTORS.filter(([type]) => account.factors[type]).map(([, below, label]) => ({
          href: path(below),
          label,
        })),
    recovery: factors.length === 0 ? null : { left: codes?.left ?? 0, href: path('/recovery-codes') },
    providers: providersOf(deps, person),
    sessions: signIns.rows.map(({ signInId, userAgent, ip, createdAt, usedAt }) => ({
      id: signInId,
      device: deviceText(t, deviceOf(userAgent)),
      ip,
      createdAt,
      lastUsedAt: usedAt,
      isCurrent: signInId === person.session.signInId,
    })),
    moreSessions: signIns.total - signIns.rows.length,
    activity: activity.flatMap((shown) => {
      const key = activityKey(shown)
      return key === null ? [] : [{ ...shown, key }]
    }),
    links: {
      export: path('/export'),
      delete: account.deletion ? path('/delete') : null,
      home: { url: siteUrl, name: siteName(t, siteUrl) },
    },
    action: (below) => pages.action(below),
    fields: pages.fields(caller, 'settings'),
    signOut: {
      action: pages.action('/sign-out'),
      fields: pages.fields(caller, 'account', { then: 'leave' }),
    },
  })
  return pages.render(t, page, answer)
}

/** The pages on which second factors are added. */
const ADD_FACTORS = [
  ['totp', '/authenticator', 'me.authenticator'],
  ['webauthn', '/security-key', 'me.key'],
  ['phone', '/phone-factor', 'me.phone-factor'],
] as const

function providersOf({ account, ways }: UiDeps, { user }: Person): AccountHomeView['providers'] {
  if (!account.linking) return null
  const linked = user.identities.filter(({ provider }) => provider !== 'email' && provider !== 'phone')
  const names = new Set(linked.map(({ provider }) => provider))
  return {
    linked: linked.map(({ id, provider, email }) => ({
      id,
      provider,
      email,
      removable: user.identities.length > 1,
    })),
    linkable: ways.providers.filter((name) => !names.has(name)),
  }
}

function activityKey({ action, detail }: ShownActivity): UiKey | null {
  const plain = `me.activity.${action}`
  const key = detail === '' ? plain : `${plain}.${detail}`
  if (isUiKey(key)) return key
  return isUiKey(plain) ? plain : null
}
