import type { Answer } from '@signet/http'
import type { EnrollRequest, Enrolled } from '../../factors/enrollment-service.js'
import type { FactorType } from '../../factors/factor-rules.js'
import type { AccountStep } from './account-form.js'
import type { Person } from '../context/progress.js'
import type { UiDeps } from '../context/ui-deps.js'

/** A second factor that is being added, as the URL of its page contains it. The browser's history keeps that URL. */
export type Setup<More> = More & {
  readonly factorId: string
  readonly until: number
  readonly sealed: string
}

/** Includes the session, which belongs to one person in one browser, so that only this session can open it. */
const labelOf = (type: FactorType, { session }: Person): string => `${type} factor ${session.id}`

/** Enrolls a factor under the name that the person typed. */
export async function enrollNamed<T extends FactorType>(
  { enrollments }: UiDeps,
  { sent, person, meta }: AccountStep,
  request: EnrollRequest & { factor_type: T },
): Promise<Extract<Enrolled, { type: T }>> {
  const friendly_name = sent.text('name').trim()
  const enrolled = await enrollments.enroll(person, { ...request, friendly_name }, meta)
  if (enrolled.type !== request.factor_type) throw new Error('another factor than was asked for')
  return enrolled as Extract<Enrolled, { type: T }>
}

/** Redirects to the page that continues the setup. */
export function toSetup(
  { pages, state, now, account }: UiDeps,
  page: string,
  type: FactorType,
  { sent, person }: AccountStep,
  setup: { factorId: string },
): Answer {
  const until = now().getTime() + account.setupMs
  const sealed = state.seal(labelOf(type, person), { ...setup, until })
  return pages.redirect(pages.path(page, sent.context, { setup: sealed }))
}

/**
 * Opens the setup in a URL. Null once the factor is verified or gone, so that its secret cannot be read from the browser's history later.
 */
export function openSetup<More>(
  { state, now }: UiDeps,
  type: FactorType,
  person: Person,
  sealed: unknown,
): Setup<More> | null {
  if (typeof sealed !== 'string') return null
  const setup = state.open<Setup<More>>(labelOf(type, person), sealed)
  if (setup === null || setup.until <= now().getTime()) return null
  const isPending = person.user.factors.some(
    ({ id, status }) => id === setup.factorId && status === 'unverified',
  )
  return isPending ? { ...setup, sealed } : null
}
