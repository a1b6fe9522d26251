import { AdminUserService } from '../admin/admin-user-service.js'
import { AuditListService } from '../admin/audit-list-service.js'
import { LinkService } from '../admin/link-service.js'
import { UserRemovalService } from '../admin/user-removal-service.js'
import { CleanupService } from '../cleanup/cleanup-service.js'
import { allowedAudiences, cleanupRules, signUpRules } from './part-settings.js'
import { AdminFactorService } from '../factors/admin-factor-service.js'
import { InviteService } from '../invite/invite-service.js'
import type { AccountServices } from './account.js'
import type { Foundation } from './foundation.js'
import type { Parts } from './parts.js'

/** What administrators and the clean-up do (docs/specification.md#invitations and docs/specification.md#administration and docs/specification.md#generated-links and docs/specification.md#data-at-rest). */
export function createAdministrationServices(
  parts: Parts,
  foundation: Foundation,
  { deletions }: Pick<AccountServices, 'deletions'>,
) {
  const { config, db, observer, hasher, now, stores } = parts
  const { users, identities, factors, levels } = stores
  const { audit, mailer, confirmations, proofs, issuer, messages, vouched, ends } = foundation
  return {
    adminUsers: new AdminUserService({
      db,
      users,
      lists: stores.userLists,
      identities,
      ends,
      tokens: stores.tokens,
      signUps: stores.pendingSignUps,
      vouched,
      proofs,
      confirmations,
      audit,
      hasher,
      rules: {
        role: config.jwtDefaultGroupName,
        audiences: allowedAudiences(config),
        passwords: signUpRules(config).passwords,
      },
      now,
    }),
    userRemovals: new UserRemovalService({
      db,
      bounds: stores.sessionBounds,
      users,
      identities,
      ends,
      tokens: stores.tokens,
      signUps: stores.pendingSignUps,
      audit,
      now,
    }),
    adminFactors: new AdminFactorService({ users, factors, levels, audit, mailer, now }),
    auditLists: new AuditListService({ db, entries: stores.auditLists }),
    links: new LinkService({
      db,
      users,
      proofs,
      vouched,
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
    invites: new InviteService({ users, vouched, messages, audit }),
    cleanup: new CleanupService({
      db,
      store: stores.cleanup,
      observer,
      deletions,
      rules: cleanupRules(config),
      now,
    }),
  }
}
