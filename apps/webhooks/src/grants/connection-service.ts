import type { Db } from '@signet/db'
import type { RequestMeta } from '@signet/telemetry'
import { isClientId } from '../clients/client.js'
import { notFound } from '../errors/api-errors.js'
import type { Observer } from '../observers/observer.js'
import { listConnections, revokeConnection, type Connection } from './connection-store.js'

/** Lists and ends the applications that a person has connected (docs/specification.md#portal). */
export class ConnectionService {
  constructor(private readonly deps: { db: Db; observer: Observer }) {}

  list(accountId: string): Promise<Connection[]> {
    return listConnections(this.deps.db, accountId)
  }

  async revoke(accountId: string, clientId: string, meta: RequestMeta): Promise<void> {
    if (!isClientId(clientId)) throw notFound()
    const grants = await revokeConnection(this.deps.db, { accountId, clientId })
    if (grants.length === 0) throw notFound()
    for (const grantId of grants)
      this.deps.observer.grantRevoked({ grantId, reason: 'revoked_by_user' }, meta)
  }
}
