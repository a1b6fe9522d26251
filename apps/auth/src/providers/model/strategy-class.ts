import type OAuth2Strategy from 'passport-oauth2'

type Options = Omit<OAuth2Strategy.StrategyOptions, 'scope' | 'passReqToCallback'> & {
  callbackURL: string
  userProfileURL: string | undefined
}

type Verify = (
  accessToken: string,
  refreshToken: string | undefined,
  response: unknown,
  profile: unknown,
  done: OAuth2Strategy.VerifyCallback,
) => void

/** What the strategies of Passport's libraries have in common. */
export type StrategyClass = new (options: Options, verify: Verify) => OAuth2Strategy
