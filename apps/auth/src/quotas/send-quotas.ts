import type { Limit, Limiter } from '@signet/rate-limits'
import { networkPath } from '@signet/rate-limits/network-path'
import { withoutLabel } from '../addresses/email.js'
import { authError, isAddressExists } from '../errors/auth-error.js'
import type { MessageOrigin } from '../outbox/outbox-handler.js'
import type { Client } from '../requests/request-meta.js'

const HOUR_MS = 3_600_000

/** `n` messages an hour or, for `n/d`, a bucket of n messages that gains one every d. */
export type SendQuota = { amount: number; everyMs?: number | undefined }

/**
 * Why a message is requested. It depends on the request and never on the account, so that strangers cannot find out anything about
 * accounts. Administrators send an `invitation`.
 */
export type MessagePurpose =
  | 'confirmation'
  | 'sign_in'
  | 'recovery'
  | 'change'
  | 'change_approval'
  | 'reauthentication'
  | 'second_factor'
  | 'invitation'

export type MessageQuotaRequest = {
  purpose: MessagePurpose
  to: string
  /**
   * The message follows from a request that was already counted. It does not count against the client's quota, which would otherwise tell
   * the client that there was something to send.
   */
  follows?: true
}

export type SendQuotaConfig = {
  /** Undefined while nothing is counted (AUTH_MAILER_AUTOCONFIRM, AUTH_SMS_AUTOCONFIRM). */
  mail: MailQuotas | undefined
  sms: Quotas | undefined
}

export type Quotas = {
  total: SendQuota
  perRecipient: SendQuota
  perClient: SendQuota
}

export type MailQuotas = Quotas & {
  /** Percent of the total that is reserved for recoveries. As much again is reserved for confirmations. */
  reservePercent: number
  /** Percent of a reserve that the widest network around a client may use. */
  sharePercent: number
}

export type SendQuotas = {
  /**
   * Counts one email and runs `work`. If that fails, the email is not counted, unless the error says that another account has an address.
   * Throws `over_email_send_rate_limit` if the recipient, the client or the server has used up its quota.
   */
  mail<T>(request: MessageQuotaRequest, meta: MessageOrigin, work: () => Promise<T>): Promise<T>
  /** The same for an SMS to a number, with `over_sms_send_rate_limit`. */
  sms<T>(request: MessageQuotaRequest, meta: MessageOrigin, work: () => Promise<T>): Promise<T>
}

type Deps = {
  limiter: Limiter
  /** Called for each email that a quota refuses. */
  onMailRefused?: ((meta: MessageOrigin) => void) | undefined
}

/** Purposes with a reserve may use it once the shared part is used up (decision 0128). */
type Reserved = 'recovery' | 'confirmation'
const isReserved = (purpose: MessagePurpose): purpose is Reserved =>
  purpose === 'recovery' || purpose === 'confirmation'

export function createSendQuotas(config: SendQuotaConfig, { limiter, onMailRefused }: Deps): SendQuotas {
  const pools = config.mail && splitPools(config.mail)

  async function counted<T>(
    ways: readonly (readonly Limit[])[],
    work: () => Promise<T>,
    refuse: (waitMs: number) => Error,
  ): Promise<T> {
    const { waitMs, taken } = await takeOneWay(limiter, ways)
    if (waitMs > 0) throw refuse(waitMs)
    try {
      return await work()
    } catch (error) {
      // A request that is refused because it comes too soon must not use up the quota. One that reveals who has an account must.
      if (!isAddressExists(error)) await limiter.putBack(taken)
      throw error
    }
  }

  return {
    mail(request, meta, work) {
      if (!config.mail || !pools) return work()
      // An administrator's server sends for all users, so no client limit applies.
      const client = request.purpose === 'invitation' ? undefined : meta.client
      const all = [[pools.shared], ...(isReserved(request.purpose) ? [pools[request.purpose](client)] : [])]
      return counted(waysOf('mail', config.mail, request, client, all), work, (waitMs) => {
        onMailRefused?.(meta)
        return refusal('over_email_send_rate_limit', 'Email rate limit exceeded', waitMs)
      })
    },
    sms(request, meta, work) {
      if (!config.sms) return work()
      const all = [[limitOf('sms:all', config.sms.total)]]
      return counted(waysOf('sms', config.sms, request, meta.client, all), work, (waitMs) =>
        refusal('over_sms_send_rate_limit', 'SMS rate limit exceeded', waitMs),
      )
    },
  }
}

/**
 * Combines the limits of the recipient, which are separate for each purpose, and of the client, unless a proxy hides who that is, with each
 * of `all`, the limits for everyone.
 */
function waysOf(
  what: 'mail' | 'sms',
  { perRecipient, perClient }: Quotas,
  { to, purpose, follows }: MessageQuotaRequest,
  client: Client | undefined,
  all: readonly (readonly Limit[])[],
): Limit[][] {
  const recipient = `${what}:to:${withoutLabel(to)}:${purpose}`
  const own: Limit[] = []
  if (client && !client.shared) {
    own.push(limitOf(`${recipient}:by:${client.key}`, halfOf(perRecipient)))
    if (!follows) own.push(limitOf(`${what}:by:${client.key}`, perClient))
  }
  const parts = partsOf(recipient, perRecipient, client)
  return all.flatMap((limits) => parts.map((part) => [...own, ...part, ...limits]))
}

/**
 * Strangers can request messages for addresses without an account. Nobody gets those, but they must not use up what the owner needs to sign
 * up or in. So half of a recipient's quota is first come, first served, and the rest is divided (decision 0128). The widest network around
 * a client may use half of the rest, and every narrower one half as much, but at least one message. The client itself may use one.
 */
function partsOf(recipient: string, quota: SendQuota, client: Client | undefined): Limit[][] {
  const common = Math.ceil(quota.amount / 2)
  const rest = quota.amount - common
  const path = !client || client.shared ? [] : networkPath(client)
  const shares = path.map((network, depth) => {
    const share = depth === path.length - 1 ? 1 : Math.max(1, Math.floor(rest / 2 ** (depth + 1)))
    return limitOf(`${recipient}:rest:by:${network}`, partOf(quota, share))
  })
  return [
    [limitOf(`${recipient}:common`, partOf(quota, common))],
    [limitOf(`${recipient}:rest`, partOf(quota, rest)), ...shares],
  ]
}

const halfOf = ({ amount, everyMs }: SendQuota): SendQuota => ({
  amount: Math.ceil(amount / 2),
  everyMs: everyMs === undefined ? undefined : 2 * everyMs,
})

/** Takes one message from each limit of the first way in which every limit has one left. */
async function takeOneWay(limiter: Limiter, ways: readonly (readonly Limit[])[]) {
  let waitMs = Infinity
  for (const limits of ways) {
    const taken = await limiter.take(limits)
    if (taken.waitMs === 0) return taken
    waitMs = Math.min(waitMs, taken.waitMs)
  }
  return { waitMs, taken: [] as readonly Limit[] }
}

type Pools = { shared: Limit } & Record<Reserved, (client: Client | undefined) => Limit[]>

/** Splits the total so that the parts, and their refill rates, add up to it. */
function splitPools({ total, reservePercent, sharePercent }: MailQuotas): Pools {
  const reserve = Math.floor((total.amount * reservePercent) / 100)
  const part = (name: string, amount: number) => limitOf(`mail:all:${name}`, partOf(total, amount))
  const reserved = (name: Reserved) => {
    const whole = partOf(total, reserve)
    const widest = (reserve * sharePercent) / 100
    return (client: Client | undefined) => [part(name, reserve), ...sharesOf(name, { whole, widest }, client)]
  }
  return {
    shared: part('shared', total.amount - 2 * reserve),
    recovery: reserved('recovery'),
    confirmation: reserved('confirmation'),
  }
}

/**
 * How much of a reserve each network around the client may use (decision 0128): every narrower one half as much as the one around it, but
 * at least one message. So a few networks cannot use up what everyone else needs for recoveries, no matter how many clients are in them.
 */
function sharesOf(
  name: Reserved,
  { whole, widest }: { whole: SendQuota; widest: number },
  client: Client | undefined,
): Limit[] {
  if (!client || client.shared) return []
  return networkPath(client).map((network, depth) => {
    const share = Math.max(1, Math.floor(widest / 2 ** depth))
    return limitOf(`mail:all:${name}:by:${network}`, partOf(whole, share))
  })
}

const partOf = ({ amount: whole, everyMs }: SendQuota, amount: number): SendQuota => ({
  amount,
  everyMs: everyMs === undefined ? undefined : (everyMs * whole) / Math.max(amount, 1),
})

const limitOf = (key: string, { amount, everyMs }: SendQuota): Limit =>
  everyMs === undefined ? { key, amount, windowMs: HOUR_MS } : { key, amount, everyMs }

const refusal = (
  code: 'over_email_send_rate_limit' | 'over_sms_send_rate_limit',
  message: string,
  waitMs: number,
) =>
  authError('limited', code, message, {
    retryAfterSeconds: Math.max(1, Math.ceil(Math.min(waitMs, HOUR_MS * 24) / 1000)),
  })
