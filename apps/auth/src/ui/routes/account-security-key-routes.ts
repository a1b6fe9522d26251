import type { Answer, Route } from '@signet/http'
import { credentialOf } from '../context/credential-of.js'
import { enrollNamed, toSetup } from './factor-setup.js'
import { faultOf } from '../context/refusals.js'
import type { UiDeps } from '../context/ui-deps.js'
import { securityKeyPage } from '../pages/account-security-key-page.js'
import { passkeyScript } from '../passkey-script.js'
import { setupRoutes, type ShownSetup } from './account-setup-routes.js'

const PAGE = '/account/security-key'

type Key = Readonly<Record<never, never>>

/** A security key as second factor. */
export const accountSecurityKeyRoutes = (deps: UiDeps): Route[] =>
  setupRoutes<Key>(deps, {
    page: PAGE,
    type: 'webauthn',
    summary: 'Name a security key, and prove it',
    limit: deps.limits.mfaVerify,
    done: 'factor-key',
    async begin(step) {
      const { id: factorId } = await enrollNamed(deps, step, { factor_type: 'webauthn' })
      return toSetup(deps, PAGE, 'webauthn', step, { factorId })
    },
    prove({ sent, person, meta }, { factorId }) {
      const webauthn = { type: 'create', credential_response: credentialOf(sent) }
      const answer = { challenge_id: sent.text('challenge'), webauthn }
      return deps.challenges.verify(person, factorId, answer, meta)
    },
    show: (shown) => show(deps, shown),
  })

async function show(deps: UiDeps, shown: ShownSetup<Key>): Promise<Answer> {
  const { pages } = deps
  const { caller, setup, refusal } = shown
  const asked = setup === null ? null : await challengeFor(deps, shown, setup.factorId)
  const more: Record<string, string> =
    setup === null || asked === null ? {} : { setup: setup.sealed, challenge: asked.challenge }
  const page = securityKeyPage(caller.t, {
    script: passkeyScript.at(pages.action('/passkey.js')),
    notice: refusal?.notice,
    fault: faultOf(refusal?.code, { address: 'name' }),
    name: caller.typed('name'),
    options: asked?.options ?? null,
    form: { action: pages.action(PAGE), fields: pages.fields(caller, 'settings', more) },
    back: pages.path('/account', caller.context),
  })
  return pages.render(caller.t, page, refusal)
}

/** Each page gets a new challenge, because one works only once. */
async function challengeFor(
  { challenges, guard, limits }: UiDeps,
  { person, req }: ShownSetup<Key>,
  factorId: string,
) {
  await guard.limit(limits.mfaChallenge)(req)
  const { id, webauthn } = await challenges.challenge(person, factorId, undefined, guard.metaOf(req))
  return { challenge: id, options: webauthn?.credential_options.publicKey ?? {} }
}
