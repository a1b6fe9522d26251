import { AdminUserService } from '../admin/admin-user-service.js'
import { AuditListService } from '../admin/audit-list-service.js'
import { LinkService } from '../admin/link-service.js'
import { UserRemovalService } from '../admin/user-removal-service.js'
import { CleanupService } from '../cleanup/cleanup-service.js'
import { cleanupRules, signUpRules } from '../config/parts.js'
import { AdminFactorService } from '../factors/admin-factor-service.js'
import { InviteService } from '../invite/invite-service.js'
import { type Foundation } from './foundation.js'
import { type Parts } from './parts.js'

/** What administrators and the clean-up do (contract 1.14, 1.21, 1.22 and 13.4). */
export function createAdministrationServices(parts: Parts, foundation: Foundation) {
  const { config, db, events, mailer, hasher, now, stores } = parts
  const { users, identities, factors, levels } = stores
  const { audit, confirmations, issuer, messages, factory } = foundation
  return {
    adminUsers: new AdminUserService({
      db,
      users,
      lists: stores.userLists,
      identities,
      sessions: stores.sessions,
      confirmations,
      audit,
      hasher,
      rules: { role: config.jwtDefaultGroupName, passwords: signUpRules(config).passwords },
      now,
    }),
    userRemovals: new UserRemovalService({
      users,
      identities,
      sessions: stores.sessions,
      tokens: stores.tokens,
      audit,
      now,
    }),
    adminFactors: new AdminFactorService({ users, factors, levels, audit, mailer, now }),
    auditLists: new AuditListService({ db, entries: stores.auditLists }),
    links: new LinkService({
      db,
      users,
      factory,
      issuer,
      messages,
      audit,
      hasher,
      rules: {
        passwords: signUpRules(config).passwords,
        secureEmailChange: config.mailerSecureEmailChangeEnabled,
      },
      now,
    }),
    invites: new InviteService({ users, factory, issuer, messages, audit, now }),
    cleanup: new CleanupService({ db, store: stores.cleanup, events, rules: cleanupRules(config), now }),
  }
}
