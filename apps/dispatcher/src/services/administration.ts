import { AdminService } from '../admin/admin-service.js'
import { BacklogHistory } from '../admin/backlog-history.js'
import { Operations } from '../operations/operations.js'
import type { Parts } from './parts.js'

/** Creates what the pages for operators show. */
export function createAdministration({ config, pools, queues, presence, registry, now }: Parts) {
  const db = pools.admin
  const history = new BacklogHistory({ db, registry, now })
  const operations = new Operations({
    db,
    queues,
    presence,
    redisReady: Promise.resolve(),
    secretBox: config.secretBox,
    now,
  })
  return { history, admin: new AdminService({ db, history, now, operations }) }
}
