import { route, type Route } from '@signet/http'
import type { Bearer } from '../bearer/bearer.js'
import type { RequestGuard } from '../bearer/request-guard.js'
import type { RateLimits } from '../rate-limits/rate-limits.js'
import { bodyDoc } from '../requests/body-docs.js'
import { docs } from '../requests/docs.js'
import { jsonBody, type BodyOf } from '../requests/json-body.js'
import type { AccessTokens } from '../sessions/access-tokens.js'
import type { Live } from '../sessions/session.js'
import { tokenView } from '../sessions/token-view.js'
import { factorCaller } from './factor-routes.js'
import type { RecoveryCodeService } from './recovery-code-service.js'

export type RecoveryCodeDeps = {
  bearer: Bearer
  guard: RequestGuard
  limits: RateLimits
  recoveryCodes: RecoveryCodeService
  accessTokens: AccessTokens
  now: () => Date
}

const verifyFields = { code: 'string' } as const
const own = { tag: 'Factors', security: 'user' } as const

/** Recovery codes of the signed-in user (docs/specification.md#recovery-codes). */
export function recoveryCodeRoutes(deps: RecoveryCodeDeps): Route[] {
  const { bearer, guard, limits, recoveryCodes } = deps
  const authenticate = factorCaller(bearer)
  return [
    route<Live>({
      method: 'get',
      path: '/recovery-codes',
      docs: docs('getRecoveryCodes', 'How many recovery codes are left', {
        ...own,
        answer: { description: 'The number; never the codes', schema: 'RecoveryCodeCount' },
        errors: [401, 403],
      }),
      authenticate,
      async handle({ caller }) {
        const count = await recoveryCodes.count(caller.user.id)
        return {
          body: { codes_left: count?.left ?? 0, created_at: count?.createdAt.toISOString() ?? null },
        }
      },
    }),
    route<Live>({
      method: 'post',
      path: '/recovery-codes',
      docs: docs('createRecoveryCodes', 'Make a new set of recovery codes', {
        ...own,
        description:
          'Ten codes, shown only here; those before stop working. Needs `aal2` and a verified factor.',
        body: bodyDoc([]),
        answer: { description: 'The codes', schema: 'RecoveryCodes' },
        errors: [400, 401, 403, 422],
      }),
      limit: guard.limit(limits.mfaChallenge),
      authenticate: bearer.toAddWayIn(authenticate),
      body: jsonBody({}, { optional: true }),
      handle: async ({ caller, req }) => ({
        body: { codes: await recoveryCodes.replace(caller, guard.metaOf(req)) },
      }),
    }),
    verifyingRoute(deps, '/recovery-codes/verify', [
      'verifyRecoveryCode',
      'Use a recovery code in place of a factor',
    ]),
  ]
}

/** Uses a code; `texts` are the operation's id and summary. The public client has a path of its own for it. */
export const verifyingRoute = (
  { bearer, guard, limits, recoveryCodes, accessTokens, now }: RecoveryCodeDeps,
  path: string,
  texts: readonly [string, string],
): Route =>
  route<Live, BodyOf<typeof verifyFields>>({
    method: 'post',
    path,
    docs: docs(...texts, {
      ...own,
      description: 'The code is spent. Case, spaces and dashes do not matter.',
      body: bodyDoc(['code']),
      answer: { description: 'The session, now at aal2, with a new refresh token', schema: 'Session' },
      errors: [400, 401, 403, 422, 429],
    }),
    limit: guard.limit(limits.mfaVerify),
    authenticate: factorCaller(bearer),
    body: jsonBody(verifyFields),
    async handle({ caller, body, req }) {
      const signedIn = await recoveryCodes.verify(caller, body.code ?? '', guard.metaOf(req))
      return { body: await tokenView(accessTokens, signedIn, now()) }
    },
  })
