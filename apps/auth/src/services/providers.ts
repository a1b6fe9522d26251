import type { Db } from '@signet/db'
import type { AuditLog } from '../audit/audit-log.js'
import { intervalRules } from './message-settings.js'
import { externalProviders, idTokenRules, linkingRules } from './part-settings.js'
import type { AuthConfig } from '../config/config.js'
import type { Mailer } from '../mail/mailer.js'
import type { TokenHashes } from '../one-time-tokens/one-time-token.js'
import type { SecretMessages } from '../messages/secret-messages.js'
import type { TokenIssuer } from '../one-time-tokens/token-issuer.js'
import type { Outbound } from '../outbound/outbound.js'
import type { DerivedKeys } from '../secrets/derived-keys.js'
import type { AddressHolders } from '../proofs/address-holders.js'
import type { AddressProofs } from '../proofs/address-proofs.js'
import type { KeyedLimit } from '../rate-limits/rate-limits.js'
import type { SessionEnds } from '../sessions/session-ends.js'
import type { SessionGate } from '../sessions/session-gate.js'
import type { SessionService } from '../sessions/session-service.js'
import type { Stores } from './stores.js'
import { AuthorizeService } from '../providers/authorize-service.js'
import { CallbackService } from '../providers/callback-service.js'
import { IdTokenService } from '../providers/id-token-service.js'
import { IdentityService } from '../providers/identity-service.js'
import { AccountLinking } from '../providers/linking/account-linking.js'
import { ConfirmationRequests } from '../providers/linking/confirmation-requests.js'
import { ExternalIdentities } from '../providers/linking/external-identities.js'
import { ExternalSignIn } from '../providers/linking/external-sign-in.js'
import { Invitations } from '../providers/linking/invitations.js'
import { TargetedLinking } from '../providers/linking/targeted-linking.js'
import { IdTokenVerifier } from '../providers/open-id/id-token-verifier.js'
import { ProviderRegistry } from '../providers/provider-registry.js'

type Parts = {
  config: AuthConfig
  db: Db
  stores: Stores
  outbound: Outbound
  audit: AuditLog
  mailer: Mailer
  sessions: SessionService
  ends: SessionEnds
  gate: SessionGate
  holders: AddressHolders
  proofs: AddressProofs
  issuer: TokenIssuer
  messages: SecretMessages
  hashes: TokenHashes
  departures: KeyedLimit
  keys: DerivedKeys
  providerBudgetMs: number
  now: () => Date
}

/** Creates the services for external providers. */
export function createProviderServices(parts: Parts) {
  const { config, db, stores, outbound, audit, mailer, sessions, ends, proofs, keys, now } = parts
  const { users, identities, tokens, oauthFlows: flows } = stores
  const { encryption } = keys
  const idTokens = new IdTokenVerifier({ outbound, now })
  const registry = new ProviderRegistry({
    settings: externalProviders(config),
    outbound,
    idTokens,
    allowPrivateUrls: config.allowPrivateProviderUrls,
  })
  const externals = new ExternalIdentities({ users, identities, now })
  const { intervalMs } = intervalRules(config)
  const requests = new ConfirmationRequests({
    issuer: parts.issuer,
    tokens,
    signUps: stores.pendingSignUps,
    changes: stores.pendingChanges,
    hashes: parts.hashes,
    messages: parts.messages,
    intervalMs: intervalMs.email,
    now,
  })
  const invitations = new Invitations({ tokens, lifeMs: config.mailerOtpExp, now })
  const linked = { users, identities, externals, proofs, requests, now }
  const signIns = new ExternalSignIn({
    db,
    identities,
    linking: new AccountLinking({ ...linked, rules: linkingRules(config) }),
    targeted: new TargetedLinking({
      ...linked,
      holders: parts.holders,
      gate: parts.gate,
      tokens,
      invitations,
    }),
    requests,
    messages: parts.messages,
    audit,
    mailer,
  })
  const flowLifeMs = config.flowStateExpiryDuration
  return {
    providers: registry,
    authorizations: new AuthorizeService({
      db,
      flows,
      invitations,
      hashes: parts.hashes,
      registry,
      limit: parts.departures,
      encryption,
      now,
    }),
    callbacks: new CallbackService({
      db,
      flows,
      registry,
      signIns,
      sessions,
      encryption,
      flowLifeMs,
      providerBudgetMs: parts.providerBudgetMs,
      now,
    }),
    idTokenSignIns: new IdTokenService({
      registry,
      idTokens,
      signIns,
      sessions,
      rules: idTokenRules(config),
    }),
    identities: new IdentityService({
      gate: parts.gate,
      identities,
      tokens,
      ends,
      proofs,
      audit,
      mailer,
      rules: { autoconfirm: config.mailerAutoconfirm },
    }),
  }
}
