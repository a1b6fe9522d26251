import type { Answer, atKnownTime } from '@signet/http'
import type { RequestGuard } from '../../bearer/request-guard.js'
import type { AuthConfig } from '../../config/config.js'
import type { FlowCookies } from '../../providers/flow-cookies.js'
import type { FactorType } from '../../factors/factor-rules.js'
import type { RateLimits } from '../../rate-limits/rate-limits.js'
import type { Cookies } from '../../requests/cookies.js'
import type { Services } from '../../services/services.js'
import type { AccessTokens } from '../../sessions/access-tokens.js'
import type { MessageIntervals } from './sent-message.js'
import type { BrowserState } from './browser-state.js'
import type { Progress } from './progress.js'
import type { SignInPages } from './sign-in-pages.js'
import type { WaysIn } from './ways-in.js'

/** The services of the API that the routes of the pages call. */
type UsedServices = Pick<
  Services,
  | 'authorizations'
  | 'challenges'
  | 'deletions'
  | 'enrollments'
  | 'flowExchanges'
  | 'identities'
  | 'operators'
  | 'otps'
  | 'overviews'
  | 'passkeyRegistrations'
  | 'passkeySignIns'
  | 'passkeys'
  | 'passwords'
  | 'reauthentications'
  | 'recentProofs'
  | 'recoveries'
  | 'recoveryCodes'
  | 'resends'
  | 'sessions'
  | 'signUps'
  | 'userUpdates'
  | 'verifications'
> & { readonly flowCookies: FlowCookies; readonly guard: RequestGuard; readonly limits: RateLimits }

/** What the pages need from the composition root. */
export type UiContext = UsedServices &
  Parameters<typeof atKnownTime>[0] &
  Pick<Services, 'accessTokens' | 'gate' | 'pageKey' | 'providers'> & {
    readonly config: AuthConfig
    readonly cookies: Cookies
    readonly now: () => Date
  }

/** Everything that the routes of the pages need: services of the API, and the pages' own parts. */
export type UiDeps = UsedServices & {
  readonly aud: string
  /** AUTH_SITE_URL. */
  readonly siteUrl: string
  /** The logo, as browsers receive it. */
  readonly icon: Answer
  readonly accessTokens: AccessTokens
  readonly now: () => Date
  readonly messageIntervals: MessageIntervals
  /** Whether the device that asked for a link may continue when the link is confirmed on another one. */
  readonly linksMayGoOn: boolean
  readonly ways: WaysIn
  /** What the account page offers. */
  readonly account: {
    readonly linking: boolean
    /** Second factors that can be added. */
    readonly factors: Readonly<Record<FactorType, boolean>>
    /** How long the page that adds a factor can be used. */
    readonly setupMs: number
    readonly deletion: boolean
    readonly deletionGraceMs: number
    /** The shortest time between two messages for a change of address. */
    readonly changeIntervalMs: Readonly<Record<'email' | 'phone', number>>
    /** Whether a change of email must be confirmed at the old address, too. */
    readonly bothAddresses: boolean
  }
  /** Roles of AUTH_JWT_ADMIN_ROLES. */
  readonly adminRoles: readonly string[]
  readonly minPasswordLength: number
  readonly pages: SignInPages
  readonly state: BrowserState
  readonly progress: Progress
  /** Where links in emails and providers send the browser. */
  readonly returnUrl: string
}
