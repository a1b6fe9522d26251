import type { AdminActs } from '../administrators/admin-acts.js'
import { AdminUserService } from '../admin/admin-user-service.js'
import { AuditListService } from '../admin/audit-list-service.js'
import { LinkService } from '../admin/link-service.js'
import { UserRemovalService } from '../admin/user-removal-service.js'
import { CleanupService } from '../cleanup/cleanup-service.js'
import { allowedAudiences, cleanupAges, cleanupLockName, signUpRules } from './part-settings.js'
import { AdminFactorService } from '../factors/admin-factor-service.js'
import { InviteService } from '../invite/invite-service.js'
import type { AccountServices } from './account.js'
import type { Foundation } from './foundation.js'
import type { Parts } from './parts.js'

/**
 * Creates what administrators and the clean-up need (docs/specification.md#invitations, docs/specification.md#administration,
 * docs/specification.md#generated-links and docs/specification.md#ages-of-clean-up).
 */
export function createAdministrationServices(
  parts: Parts,
  foundation: Foundation,
  { deletions, acts }: Pick<AccountServices, 'deletions'> & { acts: AdminActs },
) {
  const { config, db, observer, hasher, now, databaseNow, stores } = parts
  const { users, identities, factors, levels } = stores
  const { mailer, holders, proofs, issuer, messages, vouched, ends } = foundation
  return {
    adminUsers: new AdminUserService({
      db,
      acts,
      users,
      lists: stores.userLists,
      identities,
      ends,
      tokens: stores.tokens,
      vouched,
      holders,
      proofs,
      hasher,
      rules: {
        role: config.jwtDefaultGroupName,
        audiences: allowedAudiences(config),
        passwords: signUpRules(config).passwords,
      },
      now,
    }),
    userRemovals: new UserRemovalService({
      acts,
      bounds: stores.sessionBounds,
      users,
      identities,
      ends,
      tokens: stores.tokens,
      signUps: stores.pendingSignUps,
      now,
    }),
    adminFactors: new AdminFactorService({ acts, factors, levels, mailer, now }),
    auditLists: new AuditListService({ db, entries: stores.auditLists }),
    links: new LinkService({
      db,
      acts,
      users,
      changes: stores.pendingChanges,
      holders,
      vouched,
      issuer,
      messages,
      hasher,
      rules: {
        passwords: signUpRules(config).passwords,
        secureEmailChange: config.mailerSecureEmailChangeEnabled,
      },
      now,
    }),
    invites: new InviteService({ users, vouched, messages, acts }),
    cleanup: new CleanupService({
      db,
      store: stores.cleanup,
      observer,
      deletions,
      lockName: cleanupLockName(config),
      ages: cleanupAges(config),
      databaseNow,
    }),
  }
}
