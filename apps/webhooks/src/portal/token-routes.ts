import type { Answer, Route } from '@signet/http'
import { timestampText } from '@signet/language'
import { html, type Html } from '@signet/pages'
import { notFound } from '../errors/api-errors.js'
import type { Limits } from '../limits/limits.js'
import { isTokenId, readTokenName } from '../personal-tokens/personal-token-routes.js'
import type { PersonalTokenService } from '../personal-tokens/personal-token-service.js'
import type { Texts } from '../pages/texts.js'
import { portalGet, portalPost, type PortalDeps } from './portal-kit.js'
import { chosenOf, inField, PageRefusal } from './refusal.js'
import type { PortalContext } from './portal-context.js'
import { faultAt, timeOf } from './show.js'

type Deps = PortalDeps & {
  personalTokens: PersonalTokenService
  limits: Pick<Limits, 'personalTokens'>
  now: () => Date
}

/**
 * Nobody must be able to create a lasting credential in a session that was left open. What counts is the proof: the sign-in page of the
 * identity server passes an older sign-in on at the press of a button, unless it is asked not to, and anyone can change that address.
 */
const MAX_PROOF_AGE_MS = 15 * 60 * 1000
const LIFETIMES = [30, 90, 180, 365] as const

/** Pages to create personal API tokens, which show them once, and to list and revoke them. */
export const tokenRoutes = (deps: Deps): Route[] => [
  portalGet(deps, '/tokens', 'Personal API tokens', (portal) => showTokens(deps, portal)),
  portalPost(
    deps,
    '/tokens',
    'Create a personal API token',
    () => '/tokens',
    async (portal, fields) => {
      if (!isRecent(deps, portal)) throw new PageRefusal('portal.refusal.sign-in-again')
      const days = chosenOf(fields, 'days', LIFETIMES, 'portal.refusal.choose-lifetime')
      const name = await inField('name', () => readTokenName(fields.get('name') ?? ''))
      await deps.limits.personalTokens.consume(portal.accountId)
      const created = await deps.personalTokens.create(portal, { name, days }, portal.meta)
      if (!created) throw new PageRefusal('portal.refusal.sign-in-again')
      return { to: '/tokens/created', shown: { token: created.token, name } }
    },
  ),
  portalGet(deps, '/tokens/created', 'A new personal API token, once', (portal) =>
    Promise.resolve(showCreated(portal)),
  ),
  portalPost(
    deps,
    '/tokens/:id/revoke',
    'Revoke a personal API token',
    () => '/tokens',
    async (portal) => {
      const id = String(portal.req.params['id'])
      if (!isTokenId(id) || !(await deps.personalTokens.revoke(portal.accountId, id, portal.meta)))
        throw notFound()
      return { to: '/tokens?done=revoked' }
    },
  ),
]

function showCreated(portal: PortalContext): Answer {
  const { t } = portal
  const token = portal.shown('token')
  const body =
    token === undefined
      ? html`<p>${t('portal.token.gone')}</p>`
      : html`<p>${t.html('portal.token.once', { name: portal.shown('name') ?? '' })}</p>
          <pre tabindex="0" aria-label="${t('portal.token.label')}">${token}</pre>`
  return portal.render({
    title: t('portal.token.title'),
    section: 'tokens',
    body: html`${body}
      <p><a class="button narrow" href="${portal.path('/tokens')}">${t('portal.token.done')}</a></p>`,
  })
}

const isRecent = ({ now }: Deps, { provedAt }: PortalContext): boolean =>
  provedAt !== null && now().getTime() - provedAt.getTime() <= MAX_PROOF_AGE_MS

const lastUse = (t: Texts, at: Date | null): Html =>
  at === null ? html`<span class="soft">${t('portal.tokens.never')}</span>` : timeOf(t, at)

async function showTokens(deps: Deps, portal: PortalContext): Promise<Answer> {
  const { t } = portal
  const tokens = await deps.personalTokens.list(portal.accountId)
  // Without `maxlength`: browsers count UTF-16 units where the service counts characters, and cut off a name that is pasted.
  const create = isRecent(deps, portal)
    ? portal.form(
        '/tokens',
        html`<label for="name">${t('portal.tokens.name')}</label>
          <input
            id="name"
            name="name"
            required
            ${faultAt(portal, 'name')}
            value="${portal.typed.get('name') ?? ''}"
          />
          <label for="days">${t('portal.tokens.works-for')}</label>
          <select id="days" name="days" ${faultAt(portal, 'days')}>
            ${LIFETIMES.map(
              (days) =>
                html`<option value="${days}" ${days === 90 && html`selected`}>
                  ${t('portal.tokens.days', { days })}
                </option>`,
            )}
          </select>
          <button type="submit">${t('portal.tokens.submit')}</button>`,
      )
    : html`<p>${t('portal.tokens.too-long-ago')}</p>
        <p>
          <a class="button narrow" href="${portal.proofPath('/tokens')}"
            >${t('portal.tokens.sign-in-again')}</a
          >
        </p>`
  const body = html`<p>${t.html('portal.tokens.text')}</p>
    ${tokens.map(
      (token) =>
        html`<section class="entry">
          <h2><bdi>${token.name}</bdi></h2>
          <ul class="numbers">
            <li><code>${token.hint}</code></li>
            <li>${t(`portal.tokens.${token.status}`)}</li>
            <li>${t.html('portal.tokens.created', { time: timeOf(t, token.createdAt) })}</li>
            <li>${t.html('portal.tokens.expires', { time: timeOf(t, token.expiresAt) })}</li>
            <li>${t.html('portal.tokens.last-used', { time: lastUse(t, token.lastUsedAt) })}</li>
          </ul>
          ${portal.form(
            `/tokens/${token.id}/revoke`,
            html`<button
              class="danger narrow"
              type="submit"
              aria-label="${t('portal.tokens.revoke', { name: token.name, time: timestampText(t.language, token.createdAt) })}"
            >
              ${t('portal.revoke')}
            </button>`,
          )}
        </section>`,
    )}
    <section class="entry">
      <h2>${t('portal.tokens.create')}</h2>
      ${create}
    </section>`
  return portal.render({ title: t('portal.nav.tokens'), section: 'tokens', body })
}
