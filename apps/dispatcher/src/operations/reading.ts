import { deliveryStatus } from '@signet/webhook-core'
import type { DeliveryReport } from './operator-store.js'

// What both the `ops` command and the pages for operators derive from a row.

/** Pending without a due time: its event's job is working on it, or left it for the sweeper. */
export const isInFirstAttempt = ({ status, nextAttemptAt }: DeliveryReport): boolean =>
  status === deliveryStatus.pending && nextAttemptAt === null

/** Customers put tokens in query strings. */
export const withoutQuery = (url: string) => url.replace(/\?.*$/s, '?…')
