import type { Route } from '@signet/http'
import { factorNotFound } from '../../factors/factor-rules.js'
import { isUuid } from '../../users/uuid.js'
import { backToAccount } from '../context/account-person.js'
import { newNameIn } from '../context/new-name.js'
import type { Sent } from '../context/sign-in-pages.js'
import type { UiDeps } from '../context/ui-deps.js'
import { accountAuthenticatorRoutes } from './account-authenticator-routes.js'
import { homeForm } from './account-home-routes.js'
import { accountPhoneFactorRoutes } from './account-phone-factor-routes.js'
import { accountRecoveryRoutes } from './account-recovery-routes.js'
import { accountSecurityKeyRoutes } from './account-security-key-routes.js'

/** Second factors of the account page, and its recovery codes. */
export const accountFactorRoutes = (deps: UiDeps): Route[] => [
  ...(deps.account.factors.totp ? accountAuthenticatorRoutes(deps) : []),
  ...(deps.account.factors.webauthn ? accountSecurityKeyRoutes(deps) : []),
  ...(deps.account.factors.phone ? accountPhoneFactorRoutes(deps) : []),
  homeForm(deps, '/ui/account/factor/rename', 'Rename a second factor', async ({ sent, person, meta }) => {
    await deps.enrollments.rename(person, factorIdOf(sent), newNameIn(sent), meta)
    return backToAccount(deps, sent, 'factor-renamed')
  }),
  homeForm(deps, '/ui/account/factor/remove', 'Remove a second factor', async ({ sent, person, meta }) => {
    await deps.enrollments.unenroll(person, factorIdOf(sent), meta)
    return backToAccount(deps, sent, 'factor-removed')
  }),
  ...accountRecoveryRoutes(deps),
]

function factorIdOf(sent: Sent): string {
  const id = sent.text('factor')
  if (!isUuid(id)) throw factorNotFound()
  return id
}
