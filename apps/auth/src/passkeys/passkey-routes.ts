import { route, type Route } from '@signet/http'
import type { Request } from 'express'
import { userIdOf } from '../admin/admin-routes.js'
import type { Admin } from '../administrators/admin.js'
import { textOf } from '../admin/paging.js'
import type { Bearer, Caller } from '../bearer/bearer.js'
import { narrowed, throughout, type Gated } from '../bearer/gates.js'
import type { RequestGuard } from '../bearer/request-guard.js'
import { authError } from '../errors/auth-error.js'
import type { KeyedLimit, RateLimits } from '../rate-limits/rate-limits.js'
import { bodyDoc, captcha } from '../requests/body-docs.js'
import { docs } from '../requests/docs.js'
import { captchaFields, jsonBody, type BodyOf } from '../requests/json-body.js'
import type { AccessTokens } from '../sessions/access-tokens.js'
import { tokenView } from '../sessions/token-view.js'
import { isUuid } from '../users/uuid.js'
import type { IssuedChallenge } from '../webauthn/challenges.js'
import type { Credential } from '../webauthn/credential.js'
import type { PasskeyRegistration } from './passkey-registration.js'
import { passkeyNotFound } from './passkey-rules.js'
import type { PasskeyService } from './passkey-service.js'
import type { PasskeySignIn } from './passkey-sign-in.js'

type Deps = {
  bearer: Bearer
  guard: RequestGuard
  limits: RateLimits
  passkeys: PasskeyService
  passkeyRegistrations: PasskeyRegistration
  passkeySignIns: PasskeySignIn
  accessTokens: AccessTokens
  config: { passkeyEnabled: boolean }
  now: () => Date
}

const answerFields = { challenge_id: 'string', credential: 'object' } as const
const nameFields = { friendly_name: 'string' } as const
const answerDoc = bodyDoc(['challenge_id'], [], {
  credential: {
    type: 'object',
    description: 'The browser’s response to the options, as JSON (WebAuthn section 5.1)',
  },
})
const own = { tag: 'Passkeys', security: 'user' } as const

/** Signing in with a passkey, and the passkeys of an account (docs/specification.md#passkeys). */
export const passkeyRoutes = (deps: Deps): Route[] => [
  ...signInRoutes(deps),
  ...registrationRoutes(deps),
  ...ownRoutes(deps),
  ...adminRoutes(deps),
]

function signInRoutes(deps: Deps): Route[] {
  const { guard, limits, passkeySignIns, accessTokens, now } = deps
  const limit = whereEnabled(deps, limits.passkeySignIn)
  return [
    route<undefined, BodyOf<typeof captchaFields>>({
      method: 'post',
      path: '/passkeys/authentication/options',
      docs: docs('startPasskeySignIn', 'Start signing in with a passkey', {
        tag: 'Passkeys',
        body: bodyDoc([], captcha),
        answer: { description: 'What to ask the browser for', schema: 'PasskeyRequest' },
        errors: [400, 404, 429],
      }),
      limit: whereEnabled(deps),
      body: jsonBody(captchaFields, { optional: true }),
      async handle({ body, req }) {
        await guard.captcha(req, body)
        return { body: challengeView(await passkeySignIns.options()) }
      },
    }),
    route<undefined, BodyOf<typeof answerFields>>({
      method: 'post',
      path: '/passkeys/authentication/verify',
      docs: docs('signInWithPasskey', 'Sign in with a passkey', {
        tag: 'Passkeys',
        body: answerDoc,
        answer: { description: 'A session: aal2 if the authenticator verified its user', schema: 'Session' },
        errors: [400, 403, 404, 429],
      }),
      limit,
      body: jsonBody(answerFields),
      async handle({ body, req }) {
        const signedIn = await passkeySignIns.signIn(body, guard.metaOf(req))
        return { body: await tokenView(accessTokens, signedIn, now()) }
      },
    }),
  ]
}

function registrationRoutes(deps: Deps): Route[] {
  const { bearer, guard, limits, passkeyRegistrations } = deps
  const authenticate = bearer.toAddWayIn(notAnonymous(bearer.changeStrongly))
  const limit = whereEnabled(deps, limits.passkeyRegistration)
  return [
    route<Caller>({
      method: 'post',
      path: '/passkeys/registration/options',
      docs: docs('startPasskeyRegistration', 'Start registering a passkey', {
        ...own,
        answer: { description: 'What to ask the browser for', schema: 'PasskeyCreation' },
        errors: [401, 403, 404, 422, 429],
      }),
      limit,
      authenticate,
      handle: async ({ caller }) => ({
        body: challengeView(await passkeyRegistrations.options(caller)),
      }),
    }),
    route<Caller, BodyOf<typeof answerFields>>({
      method: 'post',
      path: '/passkeys/registration/verify',
      docs: docs('registerPasskey', 'Register a passkey', {
        ...own,
        body: answerDoc,
        answer: { description: 'The passkey', schema: 'Passkey' },
        errors: [400, 401, 403, 404, 422, 429],
      }),
      limit,
      authenticate,
      body: jsonBody(answerFields),
      handle: async ({ caller, body, req }) => ({
        body: passkeyView(await passkeyRegistrations.register(caller, body, guard.metaOf(req))),
      }),
    }),
  ]
}

function ownRoutes(deps: Deps): Route[] {
  const { bearer, guard, passkeys } = deps
  const limit = whereEnabled(deps)
  return [
    route<Caller>({
      method: 'get',
      path: '/passkeys',
      docs: docs('listPasskeys', 'List passkeys', {
        ...own,
        answer: { description: 'The passkeys, oldest first', schema: 'PasskeyList' },
        errors: [401, 403, 404],
      }),
      limit,
      authenticate: bearer.change,
      handle: async ({ caller }) => ({ body: (await passkeys.list(caller.user.id)).map(passkeyView) }),
    }),
    route<Caller, BodyOf<typeof nameFields>>({
      method: 'patch',
      path: '/passkeys/:passkey_id',
      docs: docs('renamePasskey', 'Rename a passkey', {
        ...own,
        body: bodyDoc(['friendly_name']),
        answer: { description: 'The passkey', schema: 'Passkey' },
        errors: [400, 401, 403, 404],
      }),
      limit,
      authenticate: bearer.changeStrongly,
      body: jsonBody(nameFields),
      handle: async ({ caller, body, req }) => ({
        body: passkeyView(
          await passkeys.rename(caller, passkeyIdOf(req), body.friendly_name ?? '', guard.metaOf(req)),
        ),
      }),
    }),
    route<Caller>({
      method: 'delete',
      path: '/passkeys/:passkey_id',
      docs: docs('deletePasskey', 'Delete a passkey', {
        ...own,
        answer: { status: 204, description: 'Done; the other sessions that it opened have ended' },
        errors: [401, 403, 404],
      }),
      limit,
      authenticate: bearer.changeStrongly,
      async handle({ caller, req }) {
        await passkeys.remove(caller, passkeyIdOf(req), guard.metaOf(req))
        return { status: 204 }
      },
    }),
  ]
}

function adminRoutes(deps: Deps): Route[] {
  const { bearer, guard, passkeys } = deps
  const admin = { tag: 'Administration', security: 'admin' } as const
  const limit = whereEnabled(deps)
  const gate = throughout(bearer.admin())
  return [
    route<Admin>({
      method: 'get',
      path: '/admin/users/:user_id/passkeys',
      docs: docs('listUserPasskeys', 'List the passkeys of a user', {
        ...admin,
        answer: { description: 'The passkeys, oldest first', schema: 'PasskeyList' },
        errors: [401, 403, 404],
      }),
      limit,
      ...gate,
      handle: async ({ req }) => ({ body: (await passkeys.listOf(userIdOf(req))).map(passkeyView) }),
    }),
    route<Admin>({
      method: 'delete',
      path: '/admin/users/:user_id/passkeys/:passkey_id',
      docs: docs('deleteUserPasskey', 'Delete a passkey of a user', {
        ...admin,
        answer: { status: 204, description: 'Done; the sessions that it opened have ended' },
        errors: [401, 403, 404, 409],
      }),
      limit,
      ...gate,
      async handle({ caller, req }) {
        await passkeys.removeOf(caller, userIdOf(req), passkeyIdOf(req), guard.metaOf(req))
        return { status: 204 }
      },
    }),
  ]
}

/** The first step of each route. A server without passkeys gives everyone the same error. */
const whereEnabled =
  ({ config, guard }: Deps, limit?: KeyedLimit) =>
  async (req: Request): Promise<void> => {
    if (!config.passkeyEnabled) throw authError('not_found', 'passkey_disabled', 'Passkeys are disabled')
    if (limit) await guard.limit(limit)(req)
  }

const notAnonymous = (gate: Gated<Caller>): Gated<Caller> =>
  narrowed(gate, (caller) => {
    if (caller.user.isAnonymous)
      throw authError('forbidden', 'no_authorization', 'Anonymous user not allowed to perform these actions')
    return caller
  })

function passkeyIdOf(req: Request): string {
  const id = textOf(req.params['passkey_id'])
  if (!isUuid(id)) throw passkeyNotFound()
  return id.toLowerCase()
}

const challengeView = <O>({ challenge, options }: { challenge: IssuedChallenge; options: O }) => ({
  challenge_id: challenge.id,
  options,
  expires_at: Math.floor(challenge.expiresAt.getTime() / 1000),
})

const passkeyView = ({ id, friendlyName, createdAt, lastUsedAt }: Credential) => ({
  id,
  friendly_name: friendlyName,
  created_at: createdAt.toISOString(),
  last_used_at: lastUsedAt?.toISOString(),
})
