import { randomUUID, type KeyObject } from 'node:crypto'
import { normalizePhone } from '../addresses/phone.js'
import type { AuditLog } from '../audit/audit-log.js'
import { authError, invalid } from '../errors/auth-error.js'
import type { Mailer } from '../mail/mailer.js'
import type { RequestMeta } from '../requests/request-meta.js'
import { seal } from '../secrets/sealed-box.js'
import { requireStrong, type SessionGate } from '../sessions/session-gate.js'
import type { Live, Session } from '../sessions/session.js'
import type { User } from '../users/user.js'
import {
  factorNotFound,
  factorTraits,
  limitedText,
  needsFactorFirst,
  requireFreeName,
  visibleName,
  type FactorRules,
  type FactorType,
} from './factor-rules.js'
import type { FactorStore } from './factor-store.js'
import { MAX_QR_BYTES, qrCodeSvg } from './qr-code.js'
import type { SessionLevelStore } from './session-level-store.js'
import { newTotpSecret, totpUri } from './totp.js'

export type EnrollRequest = { factor_type?: string; friendly_name?: string; issuer?: string; phone?: string }

export type Enrolled = {
  id: string
  friendlyName: string
} & (
  | { type: 'totp'; secret: string; uri: string; qrCode: string }
  | { type: 'phone'; phone: string }
  | { type: 'webauthn' }
)

type Deps = {
  gate: SessionGate
  factors: FactorStore
  levels: SessionLevelStore
  audit: AuditLog
  mailer: Mailer
  encryption: KeyObject
  rules: FactorRules
  now: () => Date
}

/** Enrolls and removes second factors (docs/specification.md#factors). */
export class EnrollmentService {
  constructor(private readonly deps: Deps) {}

  async enroll(caller: Live, request: EnrollRequest, meta: RequestMeta): Promise<Enrolled> {
    const { gate, audit, factors, encryption, now } = this.deps
    const { id: userId } = caller.user
    const type = this.#typeOf(request)
    const friendlyName = visibleName(request.friendly_name)
    const phone = type === 'phone' ? normalizePhone(request.phone ?? '') : null
    const id = randomUUID()
    const secret = newTotpSecret()
    const shown = type === 'totp' ? this.#authenticatorCode(secret, caller.user, request) : null
    await audit.transaction(meta, async (tx, record) => {
      const { user: held, session } = await gate.hold(tx, { userId, sessionId: caller.session.id })
      this.#check(held, session, friendlyName, phone)
      const sealed = type === 'totp' ? seal(encryption, id, secret) : null
      const factor = { id, userId, friendlyName, factorType: type, secret: sealed, phone }
      await factors.makeWay(tx, userId, factor)
      await factors.dropUnfinished(tx, userId, this.deps.rules.maxEnrolled - 1)
      await factors.insert(tx, factor, now())
      record('factor_in_progress', held, { factor_id: id, factor_type: type })
    })
    if (phone !== null) return { id, friendlyName, type: 'phone', phone }
    if (shown === null) return { id, friendlyName, type: 'webauthn' }
    return { id, friendlyName, type: 'totp', secret, ...shown }
  }

  /** Called before anything is stored, because an issuer with many characters that a URL has to encode may not fit into a QR code. */
  #authenticatorCode(secret: string, { id, email, phone }: User, request: EnrollRequest) {
    const issuer = limitedText('issuer', request.issuer)
    const uri = totpUri({
      secret,
      issuer: issuer === '' ? this.deps.rules.siteHost : issuer,
      account: email ?? phone ?? id,
    })
    if (uri.length > MAX_QR_BYTES) throw invalid('issuer is too long for a QR code')
    return { uri, qrCode: qrCodeSvg(uri) }
  }

  /** Owners choose which factor to remove by its name, so changing the name needs a second factor. */
  async rename({ user, session }: Live, id: string, name: string, meta: RequestMeta): Promise<void> {
    const { gate, factors, audit, now } = this.deps
    const friendlyName = visibleName(name)
    if (friendlyName === '') throw invalid('friendly_name is required')
    await audit.transaction(meta, async (tx, record) => {
      const held = await gate.hold(tx, { userId: user.id, sessionId: session.id })
      requireStrong(held)
      const factor = await factors.find(tx, user.id, id)
      if (factor === null) throw factorNotFound()
      requireFreeName(held.user.factors, friendlyName, factor)
      const renamed = { id, friendlyName, phone: factor.phone }
      await factors.makeWay(tx, user.id, renamed)
      await factors.update(tx, id, renamed, now())
      record('factor_updated', held.user, factorTraits(factor))
    })
  }

  async unenroll(
    { user: { id: userId }, session: { id: sessionId } }: Live,
    id: string,
    meta: RequestMeta,
  ): Promise<void> {
    const { gate, factors, levels, audit, mailer, now } = this.deps
    await audit.transaction(meta, async (tx, record) => {
      const { user, session } = await gate.hold(tx, { userId, sessionId })
      const factor = await factors.find(tx, userId, id)
      if (factor === null) throw factorNotFound()
      if (factor.status === 'verified' && session.aal !== 'aal2')
        throw authError('unprocessable', 'insufficient_aal', 'AAL2 required to unenroll a verified factor')
      await levels.downgrade(tx, id, now())
      await factors.remove(tx, id)
      record('factor_unenrolled', user, { ...factorTraits(factor), session_id: session.id })
      const email = user.email ?? ''
      const variables = { email, factorType: factor.factorType, data: user.userMetadata }
      if (factor.status === 'verified')
        await mailer.notify(tx, { kind: 'mfa_factor_unenrolled_notification', to: email, variables }, meta)
    })
  }

  #typeOf({ factor_type: type, phone }: EnrollRequest): FactorType {
    if (type !== 'totp' && type !== 'phone' && type !== 'webauthn')
      throw invalid('factor_type needs to be totp, phone or webauthn')
    if (!this.deps.rules.enroll[type])
      throw authError('unprocessable', `mfa_${type}_enroll_not_enabled`, `MFA enroll is disabled for ${type}`)
    if (type === 'phone' && (phone ?? '') === '')
      throw invalid('Phone number required to enroll Phone factor')
    return type
  }

  /** Only verified factors count; the new one replaces unfinished ones (docs/specification.md#factors, decision 0243). */
  #check(user: User, session: Session, friendlyName: string, phone: string | null): void {
    const { maxEnrolled, maxVerified } = this.deps.rules
    requireFreeName(user.factors, friendlyName)
    const verified = user.factors.filter(({ status }) => status === 'verified')
    if (verified.length >= Math.min(maxEnrolled, maxVerified))
      throw authError(
        'unprocessable',
        'too_many_enrolled_mfa_factors',
        'Maximum number of factors reached, unenroll one to continue',
      )
    if (needsFactorFirst(user, session.aal))
      throw authError('forbidden', 'insufficient_aal', 'AAL2 required to enroll a new factor')
    if (phone !== null && verified.some((factor) => factor.phone === phone))
      throw authError(
        'unprocessable',
        'mfa_verified_factor_exists',
        'A verified phone factor with this number already exists, unenroll it to continue',
      )
  }
}
