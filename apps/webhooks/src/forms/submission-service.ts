import { createHash, createHmac } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import type { Db } from '@signet/db'
import type { SecretBox } from '@signet/webhook-core'
import { PageError } from '../errors/page-error.js'
import type { Handover } from '../handovers/handover-service.js'
import type { Session } from '../sessions/session-store.js'
import {
  claimSubmission,
  endSubmission,
  findSubmission,
  forgetSubmission,
  type SubmissionKey,
} from './submission-store.js'

/** Where a form redirects to, and the data that it passes to that page. */
export type Next = Handover & { to: string }

type Deps = { db: Db; secretBox: Pick<SecretBox, 'seal' | 'open'> }

type Fields = Readonly<Record<string, unknown>>

/** A form as it was rendered, and the data that was sent with it. */
type Sent = { form: string; path: string; fields: Fields }

/**
 * Within this time, a second press of a button gets the same result as the first one. Later, it only gets the page, without one-time
 * values.
 */
const DOUBLE_PRESS_SECONDS = 10
const POLL_MS = 50
const MAX_POLLS = 200

/** Processes each form once, no matter how often its button is pressed (decision 0229). */
export class SubmissionService {
  constructor(private readonly deps: Deps) {}

  /** Returns the result of `work`, or of an earlier or simultaneous call for the same form with the same fields. */
  async once(session: Session, sent: Sent, work: () => Promise<Next>): Promise<Next> {
    const { db, secretBox } = this.deps
    const own = { sessionHash: session.idHash, key: keyOf(session, sent) }
    while (!(await claimSubmission(db, own))) {
      const result = await this.#resultOf(session, own)
      if (result !== null) return result
    }
    try {
      const next = await work()
      await endSubmission(db, own, secretBox.seal(JSON.stringify(next), contextOf(session, own)))
      return next
    } catch (error) {
      await forgetSubmission(db, own)
      throw error
    }
  }

  /** Returns null if the other call failed, so that the form can be claimed again. */
  async #resultOf(session: Session, own: SubmissionKey): Promise<Next | null> {
    for (let polls = 0; polls < MAX_POLLS; polls += 1) {
      const found = await findSubmission(this.deps.db, own)
      if (found.state === 'gone') return null
      if (found.state === 'done') {
        const next = JSON.parse(this.deps.secretBox.open(found.sealed, contextOf(session, own))) as Next
        return found.ageSeconds <= DOUBLE_PRESS_SECONDS ? next : { to: next.to }
      }
      await setTimeout(POLL_MS)
    }
    throw new PageError('unavailable', 'unavailable', 'error.first-press', {
      retryAfterSeconds: DOUBLE_PRESS_SECONDS,
    })
  }
}

const keyOf = ({ csrfKey }: Session, { form, path, fields }: Sent): Buffer =>
  createHmac('sha256', csrfKey).update(`submission\n${form}\n${path}\n`).update(summaryOf(fields)).digest()

/**
 * Different for different fields. Digests each text, because the JSON of megabytes of control characters is six times as long, and
 * everybody else would wait for it.
 */
const summaryOf = (fields: Fields): string =>
  JSON.stringify(
    Object.entries(fields).map(([name, value]) => [name, value].flat().map((text) => digestOf(String(text)))),
  )

const digestOf = (text: string): string => createHash('sha256').update(text).digest('base64url')

const contextOf = ({ accountId }: Session, { key }: SubmissionKey): string =>
  `page-submission:${accountId ?? ''}:${key.toString('base64url')}`
