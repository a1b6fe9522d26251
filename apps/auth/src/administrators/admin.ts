import type { Live } from '../sessions/session.js'

declare const admitted: unique symbol

/** A program with a token that operators made for it. There is no session that could end: its claims decide. */
export type AdminProgram = {
  readonly aud: string
  readonly role: string
  readonly live: null
  readonly [admitted]: true
}

/** A person who acts as an administrator, as they were when the request arrived. */
export type AdminPerson = {
  readonly aud: string
  readonly live: Live
  /** Refuses a person without the right to do this. Called when the request arrives, and again in each transaction. */
  readonly require: (live: Live) => void
  /** Whether the audit log names the person; otherwise it names the role alone. */
  readonly isNamed: boolean
}

/** Who acts as an administrator. This alone does not permit a change: {@link AdminActs} permits it, for one transaction. */
export type Admin = AdminProgram | AdminPerson

/** Only for {@link Bearer}, which has checked the claims. */
export const programOf = (claimed: Pick<AdminProgram, 'aud' | 'role'>): AdminProgram =>
  ({ ...claimed, live: null }) as AdminProgram
