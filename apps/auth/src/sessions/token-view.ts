import { userView } from '../users/user-view.js'
import { type AccessTokens } from './access-tokens.js'
import { type SignedIn } from './session.js'

/** The token response of contract 1.0. */
export function tokenView(tokens: AccessTokens, signedIn: SignedIn, now: Date) {
  const accessToken = tokens.issue(signedIn, now)
  return {
    access_token: accessToken.text,
    token_type: 'bearer',
    expires_in: accessToken.expiresIn,
    expires_at: accessToken.expiresAt,
    refresh_token: signedIn.refreshToken,
    user: userView(signedIn.user),
  }
}
