import { isAppError } from '@signet/errors'
import type { Address } from '../addresses/address.js'
import type { AuditLog } from '../audit/audit-log.js'
import type { RequestMeta } from '../requests/request-meta.js'
import { Guesses, type Attempt } from '../sign-in/guesses.js'
import { TOO_MANY, type FailedProofs } from '../failed-proofs/failed-proofs.js'

type Deps = ConstructorParameters<typeof Guesses>[0] & { failed: FailedProofs; audit: AuditLog }

/** Counts guesses at passwords, and writes an audit entry when one is refused, no matter which route asks for the password. */
export class AuditedGuesses extends Guesses {
  readonly #deps: Deps

  constructor(deps: Deps) {
    super(deps)
    this.#deps = deps
  }

  override async begin(address: Address, meta: RequestMeta): Promise<Attempt> {
    try {
      return await super.begin(address, meta)
    } catch (error) {
      if (isAppError(error) && error.kind === 'limited') await this.#recordRefusal(address, meta)
      throw error
    }
  }

  async #recordRefusal(address: Address, meta: RequestMeta): Promise<void> {
    const { db, failed, audit } = this.#deps
    if (!(await failed.isFirstRefusal(db, address.kind, address.value))) return
    const actor = await failed.actorOf(db, address)
    await audit.record(meta, 'login_failed', actor, { provider: address.kind, reason: TOO_MANY })
  }
}
