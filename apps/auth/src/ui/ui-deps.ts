import { type AuthContext } from '../context.js'
import { type BrowserState } from './browser-state.js'
import { type Desk } from './desk.js'
import { type Progress } from './progress.js'
import { type WaysIn } from './ways-in.js'

/** What the routes of the pages work with: the services of the API, and what the pages have of their own. */
export type UiDeps = Pick<
  AuthContext,
  | 'authorizations'
  | 'challenges'
  | 'flowCookies'
  | 'flowExchanges'
  | 'guard'
  | 'limits'
  | 'otps'
  | 'passwords'
  | 'reauthentications'
  | 'recoveries'
  | 'sessions'
  | 'signUps'
  | 'userUpdates'
  | 'verifications'
> & {
  readonly aud: string
  readonly ways: WaysIn
  readonly minPasswordLength: number
  readonly desk: Desk
  readonly state: BrowserState
  readonly progress: Progress
  /** Where mails and providers send the browser back to. */
  readonly returnUrl: string
}
