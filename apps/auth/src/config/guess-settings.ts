import { integer } from '@signet/config'
import { span } from './durations.js'

const HOUR_MS = 3_600_000

/** Settings that slow down guesses at passwords and codes, and limit what strangers can store (docs/specification.md#guessing). */
export const guessSettings = {
  signInAttempts: integer({
    env: 'AUTH_SECURITY_SIGN_IN_ATTEMPTS',
    fallback: 5,
    min: 1,
    max: 1_000_000,
    doc: 'Wrong passwords that an account accepts from strangers, and from each network that it knows, before the next try has to wait. Second-factor codes are counted in the same way, wherever they come from.',
  }),
  signInFirstDelay: span({
    env: 'AUTH_SECURITY_SIGN_IN_FIRST_DELAY',
    fallback: 1000,
    minMs: 100,
    maxMs: HOUR_MS,
    doc: 'The first of these waits. Each further failure doubles it.',
  }),
  signInMaxDelay: span({
    env: 'AUTH_SECURITY_SIGN_IN_MAX_DELAY',
    fallback: 900_000,
    maxMs: HOUR_MS,
    doc: 'The longest of these waits; 0 turns them off, so that only the limits of each client (AUTH_RATE_LIMIT_FAILED_SIGN_INS, AUTH_MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY) slow down guesses, however many clients guess. Otherwise it must not be shorter than the first, and never longer than AUTH_SECURITY_SIGN_IN_FAILURE_EXP.',
  }),
  signInFailureExp: span({
    env: 'AUTH_SECURITY_SIGN_IN_FAILURE_EXP',
    fallback: HOUR_MS,
    minMs: 60_000,
    maxMs: 24 * HOUR_MS,
    doc: 'How long until one failure of an account expires, and so how soon its owner no longer waits because of strangers.',
  }),
  knownNetworks: integer({
    env: 'AUTH_SECURITY_KNOWN_NETWORKS',
    fallback: 8,
    min: 1,
    max: 100,
    doc: 'Networks that an account knows: those that it signed in from last. Each has a separate allowance of guesses, also for someone who once had the password.',
  }),
  knownNetworkRetention: span({
    env: 'AUTH_SECURITY_KNOWN_NETWORK_RETENTION',
    fallback: 90 * 24 * HOUR_MS,
    doc: 'How long a network counts as known after the last sign-in from it. With 0, no network counts as known, so strangers who guess also make the owner wait, on every network. A new password, a ban, or signing out all other sessions makes an account forget its networks.',
  }),
  codeMaxAttempts: integer({
    env: 'AUTH_SECURITY_CODE_MAX_ATTEMPTS',
    fallback: 10,
    min: 1,
    max: 100,
    doc: 'How many codes strangers can try against one address, and each network that its account knows, within a window; as many against one signed-in user. Links always work.',
  }),
  codeAttemptWindow: span({
    env: 'AUTH_SECURITY_CODE_ATTEMPT_WINDOW',
    fallback: HOUR_MS,
    minMs: 60_000,
    doc: 'The window of AUTH_SECURITY_CODE_MAX_ATTEMPTS, and so how long strangers can keep a person from typing codes in a new network that requested none. Sending another code does not begin a new one.',
  }),
  codeRequesterAttempts: integer({
    env: 'AUTH_SECURITY_CODE_REQUESTER_ATTEMPTS',
    fallback: 3,
    max: 100,
    doc: 'How many codes a network that requested one may try, no matter what strangers did; never more than AUTH_SECURITY_CODE_MAX_ATTEMPTS. With 0, a stranger can keep a newcomer from typing codes. A higher number makes guessing easier; longer codes (AUTH_MAILER_OTP_LENGTH, AUTH_SMS_OTP_LENGTH) make it harder.',
  }),
  codeRequesters: integer({
    env: 'AUTH_SECURITY_CODE_REQUESTERS',
    fallback: 10,
    max: 100,
    doc: 'How many networks get these tries, for one address and window: the first that requested a code, at most half of them (but at least one) in one IPv4 /16 or IPv6 /32, and half as many in each narrower network. The fewer there are, the fewer networks a stranger needs to keep a newcomer from typing codes; with 0, none.',
  }),
  pendingSignUps: integer({
    env: 'AUTH_SECURITY_PENDING_SIGN_UPS',
    fallback: 10,
    min: 1,
    max: 100,
    doc: 'Sign-ups with a password, and as many without, that wait for the proof of one address. Beyond them, those of the networks that sent most are dropped first.',
  }),
  passwordQueue: integer({
    env: 'AUTH_SECURITY_PASSWORD_QUEUE',
    fallback: 64,
    min: 2,
    max: 10_000,
    doc: 'How many passwords may wait to be hashed for each processor core: as many from networks that accounts know, and as many from strangers. Beyond that, the newest from the network that has the most is refused with `503 over_capacity`.',
  }),
}

type Delays = { signInFirstDelay: number; signInMaxDelay: number; signInFailureExp: number }

/**
 * Reports delays that contradict each other: the longest wait must not be shorter than the first one, nor longer than failures are
 * remembered.
 */
export function guessProblems({ signInFirstDelay, signInMaxDelay, signInFailureExp }: Delays): string[] {
  return [
    ...(signInMaxDelay > 0 && signInFirstDelay > signInMaxDelay
      ? ['AUTH_SECURITY_SIGN_IN_FIRST_DELAY must not be longer than AUTH_SECURITY_SIGN_IN_MAX_DELAY']
      : []),
    ...(signInMaxDelay > signInFailureExp
      ? [
          'AUTH_SECURITY_SIGN_IN_MAX_DELAY must not be longer than AUTH_SECURITY_SIGN_IN_FAILURE_EXP, after which a failure is forgotten',
        ]
      : []),
  ]
}
