/** The package has no types of its own. These are the parts that we use. */
declare module 'passport-oauth1' {
  import type { OAuth } from 'oauth'

  export default class OAuth1Strategy {
    /** Subclasses may use it. */
    protected _oauth: OAuth
    constructor(
      options: {
        requestTokenURL: string
        accessTokenURL: string
        userAuthorizationURL: string
        consumerKey: string
        consumerSecret: string
        callbackURL: string
        requestTokenStore: object
        skipUserProfile: boolean
      },
      verify: (
        token: string,
        tokenSecret: string,
        parameters: Record<string, unknown>,
        profile: unknown,
        done: (error: unknown, value?: unknown) => void,
      ) => void,
    )
  }
}
