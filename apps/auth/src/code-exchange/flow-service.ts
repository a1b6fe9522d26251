import { randomUUID } from 'node:crypto'
import type { Db, Tx } from '@signet/db'
import type { Audit, AuditLog } from '../audit/audit-log.js'
import { authError, invalid, userBanned } from '../errors/auth-error.js'
import type { OneTimeTokenStore } from '../one-time-tokens/one-time-token-store.js'
import type { Observer } from '../observers/observer.js'
import type { RequestMeta } from '../requests/request-meta.js'
import { type DerivedKeys, sha256 } from '../secrets/derived-keys.js'
import { tryUnseal } from '../secrets/sealed-box.js'
import type { SessionService } from '../sessions/session-service.js'
import type { SessionGate } from '../sessions/session-gate.js'
import type { Live, SignedIn } from '../sessions/session.js'
import { isBanned, type User } from '../users/user.js'
import type { UserStore } from '../users/user-store.js'
import { isMailMethod, type FlowState, type FlowStore } from '../flows/flow-store.js'
import { verifierMatches, type Challenge } from '../flows/pkce.js'

export type Exchanged = {
  signedIn: SignedIn
  /** Only after a flow through an external provider. */
  providerToken: string | undefined
  providerRefreshToken: string | undefined
}

type Deps = {
  db: Db
  users: UserStore
  flows: FlowStore
  tokens: OneTimeTokenStore
  sessions: SessionService
  gate: SessionGate
  audit: AuditLog
  observer: Pick<Observer, 'sealedElsewhere'>
  encryption: DerivedKeys['encryption']
  /** Lifetime of a code, from the time it was issued. */
  codeLifeMs: number
  now: () => Date
}

/** The pkce grant: RFC 7636. */
export class FlowService {
  constructor(private readonly deps: Deps) {}

  async exchange(
    { auth_code: code = '', code_verifier: verifier = '' }: { auth_code?: string; code_verifier?: string },
    meta: RequestMeta,
  ): Promise<Exchanged> {
    if (code === '' || verifier === '')
      throw invalid('invalid request: both auth code and code verifier should be non-empty')
    // A wrong verifier consumes the code, so the transaction commits first and the error is thrown afterwards.
    const outcome = await this.deps.audit.transaction(
      meta,
      async (tx, audit): Promise<Exchanged | 'bad_verifier'> => {
        const { user, flow } = await this.#redeem(tx, code)
        if (!verifierMatches(flow.challenge, verifier)) return 'bad_verifier'
        if (user.deletedAt !== null) throw flowNotFound()
        if (isBanned(user, this.deps.now())) throw userBanned('invalid')
        const providerTokens = {
          providerToken: this.#unsealed(flow, flow.providerAccessToken, meta),
          providerRefreshToken: this.#unsealed(flow, flow.providerRefreshToken, meta),
        }
        return { signedIn: await this.#signIn(tx, audit, user, flow, meta), ...providerTokens }
      },
    )
    if (outcome === 'bad_verifier') throw badVerifier()
    return outcome
  }

  /** Whether a code could be exchanged now. */
  async isWaiting(code: string): Promise<boolean> {
    const { db, flows } = this.deps
    const flow = await flows.findByCode(db, sha256(code))
    return flow !== null && !this.#isExpired(flow)
  }

  /**
   * Issues a code that opens a second session for someone who is already signed in. Only the application that holds the verifier can use
   * it.
   */
  async handOver({ user, session }: Live, challenge: Challenge): Promise<string> {
    const { db, flows, now } = this.deps
    const code = randomUUID()
    const flow = {
      id: randomUUID(),
      userId: user.id,
      sessionId: session.id,
      challenge,
      codeHash: sha256(code),
    }
    await flows.insertHandOver(db, flow, now())
    return code
  }

  async #signIn(tx: Tx, audit: Audit, user: User, flow: FlowState, meta: RequestMeta): Promise<SignedIn> {
    const { sessions, gate, tokens, flows } = this.deps
    // All codes and links in emails stay valid until one of them opens a session.
    if (isMailMethod(flow.method)) {
      await tokens.removeAll(tx, user.id)
      await flows.removeCodesOfLinks(tx, user.id)
    }
    // If a session that has ended linked a sign-in method, that method must not lead back into the account.
    if (flow.linkingSessionId !== null)
      await gate.hold(tx, { userId: user.id, sessionId: flow.linkingSessionId })
    if (flow.sessionId === null) {
      audit('login', user, { provider: flow.providerType })
      return flow.method === 'oauth'
        ? sessions.openByProvider(tx, user, flow.providerType, meta)
        : sessions.open(tx, user, flow.method, meta)
    }
    return sessions.openBeside(tx, await gate.hold(tx, { userId: user.id, sessionId: flow.sessionId }))
  }

  async #redeem(tx: Tx, code: string): Promise<{ user: User; flow: FlowState & { challenge: Challenge } }> {
    const { flows, users } = this.deps
    const flow = await flows.findByCode(tx, sha256(code))
    if (flow === null || flow.challenge === null) throw flowNotFound()
    if (this.#isExpired(flow)) throw authError('unprocessable', 'flow_state_expired', 'The code has expired')
    // Lock the user before the code, in the same order as every statement that ends the user's sessions and removes their codes.
    const user = flow.userId === null ? null : await users.lockById(tx, flow.userId)
    // Deleting the row redeems the code: of two concurrent requests, one deletes nothing.
    if (user === null || !(await flows.remove(tx, flow.id, user.id))) throw flowNotFound()
    return { user, flow: { ...flow, challenge: flow.challenge } }
  }

  #isExpired({ authCodeIssuedAt }: FlowState): boolean {
    const { codeLifeMs, now } = this.deps
    return authCodeIssuedAt === null || authCodeIssuedAt.getTime() + codeLifeMs <= now().getTime()
  }

  /** A code from before a new AUTH_JWT_SECRET does not work, like the other codes of that time. */
  #unsealed({ id }: FlowState, sealed: string | null, meta: RequestMeta): string | undefined {
    if (sealed === null) return undefined
    const token = tryUnseal(this.deps.encryption, id, sealed)
    if (token !== null) return token
    this.deps.observer.sealedElsewhere('the token of a provider', id, meta)
    throw flowNotFound()
  }
}

export const badVerifier = () =>
  authError('invalid', 'bad_code_verifier', 'code challenge does not match previously saved code verifier')

const flowNotFound = () =>
  authError('not_found', 'flow_state_not_found', 'invalid flow state, no valid flow state found')
