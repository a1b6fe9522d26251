import type { AdminActs } from '../administrators/admin-acts.js'
import { PasskeyRegistration } from '../passkeys/passkey-registration.js'
import { PasskeyService } from '../passkeys/passkey-service.js'
import { PasskeySignIn } from '../passkeys/passkey-sign-in.js'
import { Challenges } from '../webauthn/challenges.js'
import { RelyingParty } from '../webauthn/relying-party.js'
import type { Foundation } from './foundation.js'
import { relyingPartyRules } from './part-settings.js'
import type { Parts } from './parts.js'

/** Creates the services for passkeys: registering them, signing in with them, and managing them (docs/specification.md#passkeys). */
export function createPasskeyServices(parts: Parts, foundation: Foundation, { acts }: { acts: AdminActs }) {
  const { config, db, stores, now } = parts
  const { users, credentials } = stores
  const { derived, audit, ends, gate, mailer, sessions } = foundation
  const rules = relyingPartyRules(config)
  const relyingParty = new RelyingParty(rules)
  const challenges = new Challenges({
    db,
    store: stores.spentChallenges,
    key: derived.challenges,
    lifeMs: rules.challengeMs,
    now,
  })
  const ceremony = { db, credentials, challenges, relyingParty, audit, now }
  return {
    passkeys: new PasskeyService({ db, users, gate, acts, ends, credentials, audit, mailer }),
    passkeyRegistrations: new PasskeyRegistration({
      ...ceremony,
      gate,
      mailer,
      rules: { maxPerUser: config.passkeyMaxPerUser },
    }),
    passkeySignIns: new PasskeySignIn({ ...ceremony, users, sessions }),
  }
}
