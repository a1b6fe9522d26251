import { route, type Route } from '@signet/http'
import { bodyDoc } from '../requests/body-docs.js'
import { docs } from '../requests/docs.js'
import { jsonBody } from '../requests/json-body.js'
import type { Live } from '../sessions/session.js'
import { factorCaller } from './factor-routes.js'
import { noRecoveryCodes } from './factor-rules.js'
import { verifyingRoute, type RecoveryCodeDeps } from './recovery-code-routes.js'
import type { MadeCodes } from './recovery-code-service.js'
import { plainRecoveryCode } from './recovery-codes.js'

const PATH = '/factors/recovery-codes'
const own = { tag: 'Factors', security: 'user' } as const

/**
 * The recovery codes for the public client, which knows them as a factor of one more type
 * (docs/specification.md#recovery-codes-of-the-client). They belong to the account, so that factor has the id of the account.
 */
export function clientRecoveryCodeRoutes(deps: RecoveryCodeDeps): Route[] {
  const { bearer, guard, limits, recoveryCodes } = deps
  const authenticate = factorCaller(bearer)
  const making = (path: string, set: MadeCodes, texts: readonly [string, string]) =>
    route<Live>({
      method: 'post',
      path,
      docs: docs(...texts, {
        ...own,
        description: 'Ten codes, shown only here. Needs `aal2` and a verified factor.',
        body: bodyDoc([]),
        answer: { description: 'The codes', schema: 'ClientRecoveryCodes' },
        errors: [400, 401, 403, 404, 422, 429],
      }),
      limit: guard.limit(limits.mfaChallenge),
      authenticate: bearer.toAddWayIn(authenticate),
      body: jsonBody({}, { optional: true }),
      async handle({ caller, req }) {
        const codes = await recoveryCodes.replace(caller, guard.metaOf(req), set)
        const plain = codes.map(plainRecoveryCode)
        return { body: { id: caller.user.id, type: TYPE, total: plain.length, codes: plain } }
      },
    })
  return [
    route<Live>({
      method: 'get',
      path: PATH,
      docs: docs('getRecoveryCodeFactor', 'How many recovery codes are left, for the client', {
        ...own,
        answer: { description: 'The numbers; never the codes', schema: 'ClientRecoveryCodeStatus' },
        errors: [401, 403, 404],
      }),
      authenticate,
      async handle({ caller: { user } }) {
        const count = await recoveryCodes.count(user.id)
        if (count === null) throw noRecoveryCodes()
        return { body: { id: user.id, type: TYPE, total: count.total, remaining: count.left } }
      },
    }),
    making(PATH, 'first', [
      'createRecoveryCodeFactor',
      'Make the first set of recovery codes, for the client',
    ]),
    making(`${PATH}/regenerate`, 'another', [
      'renewRecoveryCodeFactor',
      'Replace the recovery codes, for the client',
    ]),
    verifyingRoute(deps, `${PATH}/verify`, [
      'verifyRecoveryCodeFactor',
      'Use a recovery code, for the client',
    ]),
    route<Live>({
      method: 'delete',
      path: PATH,
      docs: docs('deleteRecoveryCodeFactor', 'Remove the recovery codes, for the client', {
        ...own,
        answer: { description: 'The id', schema: 'FactorId' },
        errors: [401, 403, 404],
      }),
      authenticate,
      async handle({ caller, req }) {
        await recoveryCodes.remove(caller, guard.metaOf(req))
        return { body: { id: caller.user.id } }
      },
    }),
  ]
}

const TYPE = 'recovery_code'
