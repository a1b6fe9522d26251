import { boolean, integer, list, parsed, text } from '@signet/config'
import { span } from './durations.js'
import { BCRYPT_MAX_BYTES } from '../passwords/bcrypt.js'

const MIN_PASSWORD_LENGTH = 6
/** Fewer digits are easy to guess, more are hard to type. */
export const OTP_LENGTH = { min: 6, max: 10 } as const

type CharacterSetOptions = { env: string; fallback: readonly string[]; doc: string }

const positiveDuration = { optional: true, minMs: 1 } as const

/** Accounts, tokens, sessions, passwords and factors. */
export const accountSettings = {
  uriAllowList: list({
    env: 'AUTH_URI_ALLOW_LIST',
    fallback: [],
    doc: 'Redirect targets besides the site itself, such as `https://*.example.com/app/**`: `*` stands for one label of the host, the port, or a part of the path; `**` for any path.',
  }),
  disableSignup: boolean({
    env: 'AUTH_DISABLE_SIGNUP',
    fallback: false,
    doc: 'Only administrators can add users, directly or by invitation.',
  }),
  emailEnabled: boolean({ env: 'AUTH_EXTERNAL_EMAIL_ENABLED', fallback: true, doc: 'Sign-in with email.' }),
  emailMagicLinkEnabled: boolean({
    env: 'AUTH_EXTERNAL_EMAIL_MAGIC_LINK_ENABLED',
    fallback: true,
    doc: 'Sign-in with a link or code sent by email.',
  }),
  phoneEnabled: boolean({ env: 'AUTH_EXTERNAL_PHONE_ENABLED', fallback: false, doc: 'Sign-in with phone.' }),
  anonymousUsersEnabled: boolean({
    env: 'AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED',
    fallback: false,
    doc: 'Accounts without any address.',
  }),
  accountDeletionEnabled: boolean({
    env: 'AUTH_ACCOUNT_DELETION_ENABLED',
    fallback: true,
    doc: 'People can delete their account on the account page.',
  }),
  // Gives the owner time to reconsider, or to notice that someone else requested the deletion (decision 0203).
  accountDeletionGrace: span({
    env: 'AUTH_ACCOUNT_DELETION_GRACE',
    fallback: 7 * 86_400_000,
    doc: 'How long people who deleted their account can change their mind; `0` deletes at once.',
  }),
  manualLinkingEnabled: boolean({
    env: 'AUTH_SECURITY_MANUAL_LINKING_ENABLED',
    fallback: false,
    doc: 'Let users link and unlink sign-in methods.',
  }),

  jwtSecret: text({
    env: 'AUTH_JWT_SECRET',
    secret: true,
    doc: 'HS256 secret and root of all derived keys: one-time tokens, refresh tokens, encryption at rest.',
  }),
  jwtKeys: parsed<string, { env: string; optional: true; secret: true; doc: string }>({
    env: 'AUTH_JWT_KEYS',
    optional: true,
    secret: true,
    kind: 'JSON',
    // The key ring reads it, together with the other settings about keys.
    parse: (raw) => raw,
    doc: 'JSON array of JWKs (RSA, EC P-256, Ed25519, oct), each with `kid`; the one with `sign` in `key_ops` signs.',
  }),
  jwtKeyId: text({ env: 'AUTH_JWT_KEY_ID', optional: true, doc: '`kid` of the secret.' }),
  jwtValidMethods: list({
    env: 'AUTH_JWT_VALID_METHODS',
    fallback: [],
    fallbackDoc: 'the algorithms of all keys, and HS256',
    doc: 'The only algorithms accepted in tokens.',
  }),
  jwtIssuer: text({
    env: 'AUTH_JWT_ISSUER',
    optional: true,
    fallbackDoc: 'AUTH_API_EXTERNAL_URL',
    doc: '`iss` of access tokens.',
  }),
  jwtExp: span({
    env: 'AUTH_JWT_EXP',
    fallback: 3_600_000,
    minMs: 1000,
    doc: 'Life of an access token.',
  }),
  jwtAud: text({
    env: 'AUTH_JWT_AUD',
    fallback: 'authenticated',
    doc: 'Default audience, for users and requests that name none.',
  }),
  jwtAllowedAudiences: list({
    env: 'AUTH_JWT_ALLOWED_AUDIENCES',
    fallback: [],
    fallbackDoc: '`AUTH_JWT_AUD` alone',
    doc: 'Further audiences that `X-JWT-AUD` may name and that tokens may have; all others are refused.',
  }),
  jwtDefaultGroupName: text({
    env: 'AUTH_JWT_DEFAULT_GROUP_NAME',
    fallback: 'authenticated',
    doc: 'Role of new users.',
  }),
  jwtAdminRoles: list({
    env: 'AUTH_JWT_ADMIN_ROLES',
    fallback: ['service_role', 'supabase_admin'],
    doc: 'Roles of administrators, whose tokens may use the admin API.',
  }),

  refreshTokenRotationEnabled: boolean({
    env: 'AUTH_SECURITY_REFRESH_TOKEN_ROTATION_ENABLED',
    fallback: true,
    doc: 'Reuse of an old refresh token ends the session.',
  }),
  refreshTokenReuseInterval: span({
    env: 'AUTH_SECURITY_REFRESH_TOKEN_REUSE_INTERVAL',
    fallback: 10_000,
    doc: 'How long the previous refresh token still returns the current one, for clients that refresh in parallel or got no answer. Counted from when the exchange ended.',
  }),
  sessionsTimebox: span({
    env: 'AUTH_SESSIONS_TIMEBOX',
    ...positiveDuration,
    doc: 'Sessions end this long after sign-in.',
  }),
  sessionsInactivityTimeout: span({
    env: 'AUTH_SESSIONS_INACTIVITY_TIMEOUT',
    ...positiveDuration,
    doc: 'Sessions end this long after the last refresh.',
  }),
  sessionsAllowLowAal: span({
    env: 'AUTH_SESSIONS_ALLOW_LOW_AAL',
    ...positiveDuration,
    doc: 'How long a user with a verified factor may stay at aal1 after sign-in.',
  }),
  sessionsSinglePerUser: boolean({
    env: 'AUTH_SESSIONS_SINGLE_PER_USER',
    fallback: false,
    doc: 'A sign-in ends all other sessions of the user.',
  }),
  sessionsEndedRetention: span({
    env: 'AUTH_SESSIONS_ENDED_RETENTION',
    fallback: 30 * 86_400_000,
    minMs: 1,
    doc: 'How long the row of an ended session is kept, with the reason. At least AUTH_JWT_EXP.',
  }),

  passwordMinLength: integer({
    env: 'AUTH_PASSWORD_MIN_LENGTH',
    fallback: MIN_PASSWORD_LENGTH,
    min: MIN_PASSWORD_LENGTH,
    max: BCRYPT_MAX_BYTES,
    doc: 'Minimum length of a password in characters, from 6 to 72, because bcrypt reads at most 72 bytes.',
  }),
  passwordRequiredCharacters: parsed<readonly string[], CharacterSetOptions>({
    env: 'AUTH_PASSWORD_REQUIRED_CHARACTERS',
    kind: 'character sets',
    fallback: [],
    doc: 'Sets of characters separated by `:` (a literal one is `\\:`); a password needs one of each set.',
    parse: parseCharacterSets,
  }),
  updatePasswordRequireReauthentication: boolean({
    env: 'AUTH_SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION',
    fallback: false,
    doc: 'A password change needs a nonce from `GET /reauthenticate`.',
  }),
  reauthenticationGrace: span({
    env: 'AUTH_SECURITY_REAUTHENTICATION_GRACE',
    fallback: 0,
    doc: 'Sessions younger than this need no nonce.',
  }),
  updatePasswordRequireCurrentPassword: boolean({
    env: 'AUTH_SECURITY_UPDATE_PASSWORD_REQUIRE_CURRENT_PASSWORD',
    fallback: false,
    doc: 'A password change needs the current password.',
  }),

  mfaTotpEnrollEnabled: boolean({
    env: 'AUTH_MFA_TOTP_ENROLL_ENABLED',
    fallback: true,
    doc: 'Authenticator apps can be enrolled.',
  }),
  mfaTotpVerifyEnabled: boolean({
    env: 'AUTH_MFA_TOTP_VERIFY_ENABLED',
    fallback: true,
    doc: 'Authenticator apps can be used.',
  }),
  mfaPhoneEnrollEnabled: boolean({
    env: 'AUTH_MFA_PHONE_ENROLL_ENABLED',
    fallback: false,
    doc: 'Phones can be enrolled as second factor.',
  }),
  mfaPhoneVerifyEnabled: boolean({
    env: 'AUTH_MFA_PHONE_VERIFY_ENABLED',
    fallback: false,
    doc: 'Phones can be used as second factor.',
  }),
  mfaPhoneOtpLength: integer({
    env: 'AUTH_MFA_PHONE_OTP_LENGTH',
    fallback: 6,
    ...OTP_LENGTH,
    doc: 'Digits of a factor code, 6 to 10.',
  }),
  mfaPhoneMaxFrequency: span({
    env: 'AUTH_MFA_PHONE_MAX_FREQUENCY',
    fallback: 60_000,
    doc: 'Shortest time between two codes to one phone factor.',
  }),
  mfaPhoneTemplate: text({
    env: 'AUTH_MFA_PHONE_TEMPLATE',
    fallback: 'Your code is {{ .Code }}',
    doc: 'Text of a factor code message.',
  }),
  mfaMaxEnrolledFactors: integer({
    env: 'AUTH_MFA_MAX_ENROLLED_FACTORS',
    fallback: 10,
    doc: 'Factors of one user, verified or not. A new enrollment replaces the oldest unfinished one.',
  }),
  mfaMaxVerifiedFactors: integer({
    env: 'AUTH_MFA_MAX_VERIFIED_FACTORS',
    fallback: 10,
    doc: 'Verified factors of one user.',
  }),
  mfaChallengeExpiryDuration: span({
    env: 'AUTH_MFA_CHALLENGE_EXPIRY_DURATION',
    fallback: 300_000,
    minMs: 300_000,
    doc: 'Life of a factor challenge.',
  }),
}

function parseCharacterSets(raw: string): string[] {
  return (raw.match(/(?:\\:|[^:])+/g) ?? []).map((set) => set.replaceAll('\\:', ':'))
}
