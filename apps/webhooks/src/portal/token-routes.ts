import type { Answer, Route } from '@signet/http'
import { html } from '@signet/pages'
import { badRequest, notFound } from '../errors/api-errors.js'
import type { Limits } from '../limits/limits.js'
import { isTokenId, readTokenName } from '../personal-tokens/personal-token-routes.js'
import type { PersonalTokenService } from '../personal-tokens/personal-token-service.js'
import { chosenOf, inField, portalGet, portalPost, type PortalDeps } from './portal-kit.js'
import type { Visit } from './visit.js'
import { faultAt, timeOf, timeOr } from './show.js'

type Deps = PortalDeps & {
  personalTokens: PersonalTokenService
  limits: Pick<Limits, 'personalTokens'>
  now: () => Date
}

/** As for the user JWTs of `/account/tokens`: a session that was left open must not make a lasting credential. */
const MAX_SIGN_IN_AGE_MS = 15 * 60 * 1000
const LIFETIMES = [30, 90, 180, 365] as const

/** Personal API tokens: create, shown once; list; revoke. */
export const tokenRoutes = (deps: Deps): Route[] => [
  portalGet(deps, '/tokens', 'Personal API tokens', (visit) => showTokens(deps, visit)),
  portalPost(
    deps,
    '/tokens',
    'Create a personal API token',
    () => '/tokens',
    async (visit, fields) => {
      if (!isRecent(deps, visit)) throw badRequest('Please sign in again to create a token.')
      const days = chosenOf(fields, 'days', LIFETIMES, 'Choose how long the token works.')
      const name = await inField('name', () => readTokenName(fields.get('name') ?? ''))
      await deps.limits.personalTokens.consume(visit.accountId)
      const { token } = await deps.personalTokens.create(visit, { name, days }, visit.meta)
      return { to: '/tokens/created', shown: { token, name } }
    },
  ),
  portalGet(deps, '/tokens/created', 'A new personal API token, once', (visit) =>
    Promise.resolve(showCreated(visit)),
  ),
  portalPost(
    deps,
    '/tokens/:id/revoke',
    'Revoke a personal API token',
    () => '/tokens',
    async (visit) => {
      const id = String(visit.req.params['id'])
      if (!isTokenId(id) || !(await deps.personalTokens.revoke(visit.accountId, id, visit.meta)))
        throw notFound()
      return { to: '/tokens?done=revoked' }
    },
  ),
]

function showCreated(visit: Visit): Answer {
  const token = visit.shown('token')
  const body =
    token === undefined
      ? html`<p>
          The token was shown already, or was not opened within five minutes. If you did not copy it, revoke
          it and create another.
        </p>`
      : html`<p>This is the only time that <strong>${visit.shown('name')}</strong> is shown. Copy it now.</p>
          <pre tabindex="0" aria-label="The token">${token}</pre>`
  return visit.render({
    title: 'Your new token',
    section: 'tokens',
    body: html`${body}
      <p><a class="button narrow" href="${visit.path('/tokens')}">Done</a></p>`,
  })
}

const isRecent = ({ now }: Deps, { authenticatedAt }: Visit): boolean =>
  now().getTime() - authenticatedAt.getTime() <= MAX_SIGN_IN_AGE_MS

async function showTokens(deps: Deps, visit: Visit): Promise<Answer> {
  const tokens = await deps.personalTokens.list(visit.accountId)
  const create = isRecent(deps, visit)
    ? visit.form(
        '/tokens',
        html`<label for="name">Name</label>
          <input
            id="name"
            name="name"
            maxlength="100"
            required
            ${faultAt(visit, 'name')}
            value="${visit.typed.get('name') ?? ''}"
          />
          <label for="days">Works for</label>
          <select id="days" name="days" ${faultAt(visit, 'days')}>
            ${LIFETIMES.map(
              (days) => html`<option value="${days}" ${days === 90 && html`selected`}>${days} days</option>`,
            )}
          </select>
          <button type="submit">Create token</button>`,
      )
    : html`<p>Your sign-in is too long ago to create a token.</p>
        <p><a class="button narrow" href="${visit.proofPath('/tokens')}">Sign in again</a></p>`
  const body = html`<p>
      For scripts of your own. A token works like you on <code>/v1</code>, and ends after 90 days without use.
    </p>
    ${tokens.map(
      (token) =>
        html`<section class="entry">
          <h2><bdi>${token.name}</bdi></h2>
          <ul class="numbers">
            <li><code>${token.hint}</code></li>
            <li>
              ${token.status === 'active' ? 'Active' : token.status === 'expired' ? 'Expired' : 'Ended after a long time without use'}
            </li>
            <li>Created ${timeOf(token.createdAt)}</li>
            <li>Expires ${timeOf(token.expiresAt)}</li>
            <li>Last used ${timeOr(token.lastUsedAt, 'never')}</li>
          </ul>
          ${visit.form(
            `/tokens/${token.id}/revoke`,
            html`<button class="danger narrow" type="submit" aria-label="Revoke ${token.name}">
              Revoke
            </button>`,
          )}
        </section>`,
    )}
    <section class="entry">
      <h2>Create a token</h2>
      ${create}
    </section>`
  return visit.render({ title: 'API tokens', section: 'tokens', body })
}
