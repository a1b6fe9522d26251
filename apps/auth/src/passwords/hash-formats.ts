/**
 * The stored hashes that can be verified (docs/specification.md#passwords). Costs are bounded here, because an imported hash decides
 * how long a thread and how much memory each sign-in of that user takes.
 */
export type HashFormat =
  | { algorithm: 'bcrypt'; cost: number }
  | { algorithm: 'argon2' }
  | { algorithm: 'firebase-scrypt'; parameters: FirebaseScrypt }

export type FirebaseScrypt = {
  /** The cost is 2 to this power. */
  memoryCost: number
  rounds: number
  parallelism: number
  /** The user's salt followed by the project's separator. */
  salt: Buffer
  signerKey: Buffer
  hash: Buffer
}

const BCRYPT = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/
const ARGON2 = /^\$argon2id?\$v=19\$m=(\d{1,10}),t=(\d{1,3}),p=(\d{1,3})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/
const FIREBASE =
  /^\$fbscrypt\$v=1,n=(\d{1,2}),r=(\d{1,3}),p=(\d{1,3})(?:,ss=([A-Za-z0-9+/=]+))?,sk=([A-Za-z0-9+/=]+)\$([A-Za-z0-9+/=]+)\$([A-Za-z0-9+/=]+)$/

const GIBIBYTE = 2 ** 30
const MAX_BCRYPT_COST = 16
const MAX_ARGON2_PASSES = 20
const MAX_PARALLELISM = 16

/** The format of a stored hash, or null when nobody could sign in with it. */
export function parseHash(hash: string): HashFormat | null {
  return parseBcrypt(hash) ?? parseArgon2(hash) ?? parseFirebaseScrypt(hash)
}

/** Whether `password_hash` of an admin may be stored: a known format within the bounds. */
export const isUsableHash = (hash: string): boolean => parseHash(hash) !== null

function parseBcrypt(hash: string): HashFormat | null {
  const cost = Number(BCRYPT.exec(hash)?.[1] ?? NaN)
  return cost >= 4 && cost <= MAX_BCRYPT_COST ? { algorithm: 'bcrypt', cost } : null
}

function parseArgon2(hash: string): HashFormat | null {
  const match = ARGON2.exec(hash)
  if (!match) return null
  const [memoryKib, passes, parallelism] = match.slice(1, 4).map(Number)
  const [salt, digest] = [unpadded(match[4]), unpadded(match[5])]
  // RFC 9106 section 3.1 does not allow values below these minimums.
  if (!within(parallelism, 1, MAX_PARALLELISM) || !within(passes, 1, MAX_ARGON2_PASSES)) return null
  if (!within(memoryKib, 8 * (parallelism ?? 1), GIBIBYTE / 1024)) return null
  return within(salt?.length, 8, 64) && within(digest?.length, 4, 128) ? { algorithm: 'argon2' } : null
}

function parseFirebaseScrypt(hash: string): HashFormat | null {
  const match = FIREBASE.exec(hash)
  if (!match) return null
  const [memoryCost = 0, rounds = 0, parallelism = 0] = match.slice(1, 4).map(Number)
  const [separator, signerKey, salt, digest] = match
    .slice(4, 8)
    .map((part) => Buffer.from(part ?? '', 'base64'))
  if (!within(memoryCost, 1, 20) || !within(rounds, 1, 64) || !within(parallelism, 1, MAX_PARALLELISM))
    return null
  if (128 * 2 ** memoryCost * rounds > GIBIBYTE) return null
  // scrypt has no higher cost for blocks of this size (RFC 7914 section 2).
  if (memoryCost >= 16 * rounds) return null
  if (!separator || !signerKey?.length || !salt?.length || digest?.length !== signerKey.length) return null
  const parameters = {
    memoryCost,
    rounds,
    parallelism,
    salt: Buffer.concat([salt, separator]),
    signerKey,
    hash: digest,
  }
  return { algorithm: 'firebase-scrypt', parameters }
}

const within = (value: number | undefined, min: number, max: number) =>
  value !== undefined && value >= min && value <= max

/** The bytes of base64 without padding; undefined for text that no encoder makes, which the library refuses to read. */
function unpadded(base64 = ''): Buffer | undefined {
  const bytes = Buffer.from(base64, 'base64')
  return bytes.toString('base64').replace(/=+$/, '') === base64 ? bytes : undefined
}
