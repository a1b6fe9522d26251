import { AppError, type AppErrorOptions } from '@signet/errors'
import type { RequestContext } from '@signet/http'
import type { RequestMeta } from '@signet/telemetry'
import type { Request } from 'express'
import type { AccountService } from '../accounts/account-service.js'
import { bearerChallenges, bearerToken, isWellFormed } from '../bearer/bearer-authentication.js'
import type { BearerService, Caller } from '../bearer/bearer-service.js'
import type { IdentityClient } from '../identity/identity-client.js'
import { askIdentity } from '../identity/identity-outage.js'
import type { UserJwtVerifier } from '../identity/user-jwt.js'
import type { Limits } from '../limits/limits.js'
import type { TokenOwner } from './personal-token-service.js'
import { hasScope, SCOPE_MANAGE_TOKENS } from '../oauth/scope.js'
import type { Observer } from '../observers/observer.js'

type Deps = {
  baseUrl: string
  bearer: BearerService
  users: UserJwtVerifier
  identity: Pick<IdentityClient, 'signedInUser'>
  observer: Pick<Observer, 'login'>
  accounts: AccountService
  now: () => Date
  limits: Pick<Limits, 'bearerFailures'>
}

/** A caller who may manage the personal tokens of an account. */
export type Manager = TokenOwner

const MAX_JWT_AGE_MS = 15 * 60 * 1000
const MAX_JWT_LENGTH = 8192
const unavailable = (options: AppErrorOptions) =>
  new AppError(
    'unavailable',
    'unavailable',
    'The sign-in behind this JWT cannot be checked right now. Try again in a moment.',
    options,
  )

/**
 * Authentication of `/account` (docs/specification.md#personal-tokens). `manager` needs an access token with scope tokens:manage, or
 * a fresh user JWT; `owner` needs the personal token itself.
 */
export function accountAuthentication(deps: Deps) {
  const challenges = bearerChallenges(deps.baseUrl, { scope: SCOPE_MANAGE_TOKENS })
  const invalid = async (req: Request, context: RequestContext) => {
    await deps.limits.bearerFailures(req, context)
    return challenges.invalid()
  }
  const manager = async (req: Request, context: RequestContext): Promise<Manager> => {
    const token = bearerToken(req)
    if (token === null) throw challenges.missing()
    const user = isJwt(token) ? await userOf(deps, token, context) : null
    if (user === 'without_factor') throw challenges.secondFactorMissing()
    if (user !== null) return user
    const caller = await callerOf(deps, token, context)
    if (!caller) throw await invalid(req, context)
    if (!hasScope(caller.scope, SCOPE_MANAGE_TOKENS)) throw challenges.insufficientScope()
    return caller
  }
  const owner = async (req: Request, context: RequestContext): Promise<Caller> => {
    const token = bearerToken(req)
    if (token === null) throw challenges.missing()
    const caller = await callerOf(deps, token, context)
    if (!caller) throw await invalid(req, context)
    if (caller.kind !== 'personal') throw challenges.insufficientScope()
    return caller
  }
  return {
    manager: { authenticate: manager, authenticateAgain: manager },
    owner: { authenticate: owner },
    /** The error for a sign-in that ends while something is being derived from it. */
    ended: challenges.invalid,
  }
}

const callerOf = ({ bearer }: Deps, token: string, meta: RequestMeta) =>
  isWellFormed(token) ? bearer.resolve(token, meta) : Promise.resolve(null)

const isJwt = (token: string) => token.length <= MAX_JWT_LENGTH && token.split('.').length === 3

/**
 * Returns the account of a fresh user JWT if the account admits it. A token that lasts a year must not come from a session that has
 * ended, or that never included the account's second factor, and only the identity server knows both.
 */
async function userOf(
  { users, accounts, identity, observer, now }: Deps,
  token: string,
  meta: RequestMeta,
): Promise<Manager | 'without_factor' | null> {
  const user = await users.verify(token)
  const isFresh = user !== null && now().getTime() - user.issuedAt.getTime() <= MAX_JWT_AGE_MS
  if (!isFresh || !(await accounts.admits(user))) return null
  const signedIn = await askIdentity(observer, meta, () => identity.signedInUser(token), unavailable)
  if (signedIn === null) return null
  if (signedIn.hasSecondFactor && !user.secondFactor) return 'without_factor'
  return { accountId: user.accountId, authenticatedAt: user.issuedAt }
}
