import { fieldState, live as livePart, time, type Html } from '@signet/pages'
import { deliveryStatus, tlsProblems, type DeliveryStatus, type TlsProblem } from '@signet/webhook-core'
import type { PageKey, Texts } from '../pages/texts.js'
import type { PortalContext } from './portal-context.js'

export const timeOf = ({ language }: Texts, at: Date): Html => time(at, language)

export function milliseconds({ language }: Texts, value: number): string {
  if (value < 1000) return `${Math.round(value)} ms`
  const digits = { minimumFractionDigits: 1, maximumFractionDigits: 1, useGrouping: false }
  return `${new Intl.NumberFormat(language, digits).format(value / 1000)} s`
}

const STATUS = {
  [deliveryStatus.pending]: 'portal.status.pending',
  [deliveryStatus.delivered]: 'portal.status.delivered',
  [deliveryStatus.failed]: 'portal.status.failed',
} as const satisfies Record<DeliveryStatus, PageKey>

export const statusInWords = (t: Texts, status: DeliveryStatus): string => t(STATUS[status])

const REASONS = [
  'timeout',
  'dns_error',
  'blocked_address',
  'connection_refused',
  'connection_reset',
  'connection_error',
  'tls_error',
  'invalid_response',
  'interrupted',
  'internal_error',
  'endpoint_disabled',
  'endpoint_deleted',
  'recording_deleted',
] as const

/** Describes a failure reason (docs/specification.md#failure-reasons) for people. */
export function reasonInWords(t: Texts, reason: string, tlsProblem?: TlsProblem): string {
  const problem = tlsProblems.find((one) => one === tlsProblem)
  if (problem !== undefined) return t(`portal.reason.tls.${problem}`)
  const [, status] = /^http_(\d+)$/.exec(reason) ?? []
  if (status !== undefined) return t('portal.reason.http', { status })
  const known = REASONS.find((one) => one === reason)
  return known === undefined ? reason : t(`portal.reason.${known}`)
}

/** A part of a page about work in progress. */
export const live = ({ t, now, req }: PortalContext, isUnderWay: boolean, content: Html): Html =>
  livePart(t, { here: req.originalUrl, now, isUnderWay }, content)

/** Attaches the refusal of a form to its field. */
export const faultAt = ({ refusal }: PortalContext, name: string): Html =>
  fieldState({ name, fault: refusal?.fault })
