import { randomUUID } from 'node:crypto'
import type { Db } from '@signet/db'
import type { Language } from '@signet/language'
import { SecretUnreadableError, type SecretBox } from '@signet/webhook-core'
import type { Session } from '../sessions/session-store.js'
import { insertHandover, takeHandover } from './handover-store.js'
import { isUuid } from '../text/uuid.js'

/** Why a form was refused. */
export type Refusal = {
  readonly message: string
  /** Language of the message. */
  readonly language?: Language
  readonly status: number
  /** Name of the field that the message is about. */
  readonly fault?: string | undefined
  readonly retryAfterSeconds?: number | undefined
}

/** The result of checking one signature, explained to a person. */
export type Verdict = { readonly header: string; readonly isRight: boolean; readonly explanation: string }

/** What a form passes to the page that it leads to (docs/specification.md#portal-forms). */
export type Handover = {
  /** Secrets by name, to be shown now and never again. */
  readonly shown?: Readonly<Record<string, string>>
  readonly verdicts?: readonly Verdict[]
  readonly refusal?: Refusal
  /** Fields as they were sent, so that the form can show them again. */
  readonly typed?: Readonly<Record<string, unknown>>
}

type Deps = { db: Db; secretBox: Pick<SecretBox, 'seal' | 'open'> }

/**
 * Passes content across the redirect after a form. The content is sealed, and can be opened once within five minutes, by the same
 * person in the same session.
 */
export class HandoverService {
  constructor(private readonly deps: Deps) {}

  async give(session: Session, handover: Handover): Promise<string> {
    const id = randomUUID()
    const sealed = this.deps.secretBox.seal(JSON.stringify(handover), contextOf(session, id))
    await insertHandover(this.deps.db, { id, sessionHash: session.idHash, sealed })
    return id
  }

  /** Returns null if it was already opened, has expired, or belongs to another person. */
  async take(session: Session, id: string): Promise<Handover | null> {
    if (!isUuid(id)) return null
    const sealed = await takeHandover(this.deps.db, { id, sessionHash: session.idHash })
    if (sealed === null) return null
    try {
      return JSON.parse(this.deps.secretBox.open(sealed, contextOf(session, id))) as Handover
    } catch (error) {
      // A session continues when its person signs in to another account, but what was handed over does not.
      if (error instanceof SecretUnreadableError) return null
      throw error
    }
  }
}

const contextOf = ({ accountId }: Session, id: string): string => `page-handover:${accountId ?? ''}:${id}`
