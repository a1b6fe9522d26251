import type { Answer, Route } from '@signet/http'
import { qrCodeSvg } from '../../factors/qr-code.js'
import { enrollNamed, toSetup } from './factor-setup.js'
import { faultOf } from '../context/refusals.js'
import type { UiDeps } from '../context/ui-deps.js'
import { authenticatorPage } from '../pages/account-factor-pages.js'
import { setupRoutes, type ShownSetup } from './account-setup-routes.js'

const PAGE = '/account/authenticator'

type App = { secret: string; uri: string }

/** An authenticator app as second factor, by QR code. */
export const accountAuthenticatorRoutes = (deps: UiDeps): Route[] =>
  setupRoutes<App>(deps, {
    page: PAGE,
    type: 'totp',
    summary: 'Name an authenticator app, and prove it with a code',
    limit: deps.limits.mfaVerify,
    done: 'factor',
    async begin(step) {
      const { id: factorId, secret, uri } = await enrollNamed(deps, step, { factor_type: 'totp' })
      return toSetup(deps, PAGE, 'totp', step, { factorId, secret, uri } as App & { factorId: string })
    },
    async prove({ sent, person, meta }, { factorId }) {
      const { id } = await deps.challenges.challenge(person, factorId, undefined, meta)
      const answer = { challenge_id: id, code: sent.text('code').replaceAll(' ', '') }
      return deps.challenges.verify(person, factorId, answer, meta)
    },
    show: (shown) => show(deps, shown),
  })

function show({ pages }: UiDeps, { caller, setup, refusal }: ShownSetup<App>): Answer {
  const more: Record<string, string> = setup === null ? {} : { setup: setup.sealed }
  const page = authenticatorPage(caller.t, {
    notice: refusal?.notice,
    fault: faultOf(refusal?.code, { code: 'code', address: 'name' }),
    name: caller.typed('name'),
    setup: setup && { secret: setup.secret, qrCode: qrCodeSvg(setup.uri) },
    form: { action: pages.action(PAGE), fields: pages.fields(caller, 'settings', more) },
    back: pages.path('/account', caller.context),
  })
  return pages.render(caller.t, page, refusal)
}
