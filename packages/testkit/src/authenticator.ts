import { createHash, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto'

type CreationOptions = { rp: { id?: string }; user: { id: string }; challenge: string }
type RequestOptions = { challenge: string; allowCredentials?: readonly { id: string }[] }

/** What an attacker, a broken browser or a broken device would say instead. */
export type Lies = {
  origin?: string
  rpId?: string
  type?: string
  challenge?: string
  crossOrigin?: boolean
  userVerified?: boolean
  userPresent?: boolean
  userHandle?: string
  signCount?: number
  credentialId?: string
  attestation?: { fmt: string; attStmt: CborMap }
}

type Key = {
  id: Buffer
  privateKey: KeyObject
  publicKey: KeyObject
  userHandle: string
  rpId: string
  count: number
}
type CborMap = ReadonlyMap<number | string, Cbor>
type Cbor = number | string | Uint8Array | readonly Cbor[] | CborMap

const FLAGS = { userPresent: 0x01, userVerified: 0x04, attested: 0x40 }

/**
 * A WebAuthn authenticator and the browser in front of it, in software: makes ES256 keys and signs with them. Answers are
 * the JSON that pages send. It keeps every key, so it can answer for passkeys as well as for second factors.
 */
export class SoftwareAuthenticator {
  readonly #keys: Key[] = []
  readonly #origin: string
  readonly #counts: boolean
  readonly #userVerified: boolean

  constructor({
    origin,
    counts = true,
    userVerified = true,
  }: {
    origin: string
    counts?: boolean
    userVerified?: boolean
  }) {
    this.#origin = origin
    this.#counts = counts
    this.#userVerified = userVerified
  }

  create(options: CreationOptions, lies: Lies = {}) {
    const rpId = options.rp.id ?? new URL(this.#origin).hostname
    const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const key: Key = { ...pair, id: randomBytes(32), userHandle: options.user.id, rpId, count: 0 }
    this.#keys.push(key)
    const id = lies.credentialId === undefined ? key.id : Buffer.from(lies.credentialId, 'base64url')
    const attested = Buffer.concat([Buffer.alloc(16), uint16(id.length), id, cbor(coseKey(key.publicKey))])
    const authData = this.#authenticatorData(key, FLAGS.attested, lies, attested)
    const { fmt, attStmt } = lies.attestation ?? { fmt: 'none', attStmt: new Map() }
    const attestation = new Map<string, Cbor>([
      ['fmt', fmt],
      ['attStmt', attStmt],
      ['authData', authData],
    ])
    return {
      id: base64url(id),
      rawId: base64url(id),
      type: 'public-key' as const,
      clientExtensionResults: {},
      response: {
        clientDataJSON: base64url(this.#clientData('webauthn.create', options.challenge, lies)),
        attestationObject: base64url(cbor(attestation)),
        transports: ['internal' as const],
      },
    }
  }

  /** Signs with the newest key that the options allow. */
  get(options: RequestOptions, lies: Lies = {}) {
    const allowed = options.allowCredentials ?? []
    const key = this.#keys.findLast(
      ({ id }) => allowed.length === 0 || allowed.some((known) => known.id === base64url(id)),
    )
    if (key === undefined) throw new Error('the authenticator has no such key')
    if (this.#counts) key.count += 1
    const authData = this.#authenticatorData(key, 0, lies)
    const clientData = this.#clientData('webauthn.get', options.challenge, lies)
    const signature = sign('sha256', Buffer.concat([authData, sha256(clientData)]), key.privateKey)
    const id = lies.credentialId ?? base64url(key.id)
    return {
      id,
      rawId: id,
      type: 'public-key' as const,
      clientExtensionResults: {},
      response: {
        clientDataJSON: base64url(clientData),
        authenticatorData: base64url(authData),
        signature: base64url(signature),
        userHandle: lies.userHandle ?? key.userHandle,
      },
    }
  }

  #clientData(type: string, challenge: string, lies: Lies): Buffer {
    const said = { type, challenge, origin: this.#origin, crossOrigin: false }
    const { type: otherType, challenge: otherChallenge, origin, crossOrigin } = lies
    return Buffer.from(
      JSON.stringify({
        type: otherType ?? said.type,
        challenge: otherChallenge ?? said.challenge,
        origin: origin ?? said.origin,
        crossOrigin: crossOrigin ?? said.crossOrigin,
      }),
    )
  }

  #authenticatorData(key: Key, flags: number, lies: Lies, attested = Buffer.alloc(0)): Buffer {
    const present = (lies.userPresent ?? true) ? FLAGS.userPresent : 0
    const verified = (lies.userVerified ?? this.#userVerified) ? FLAGS.userVerified : 0
    const count = Buffer.alloc(4)
    count.writeUInt32BE(lies.signCount ?? key.count)
    return Buffer.concat([
      sha256(Buffer.from(lies.rpId ?? key.rpId)),
      Buffer.from([flags | present | verified]),
      count,
      attested,
    ])
  }
}

/** An ES256 key as COSE (RFC 9053 section 7.1.1). */
function coseKey(publicKey: KeyObject): CborMap {
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  return new Map<number, Cbor>([
    [1, 2],
    [3, -7],
    [-1, 1],
    [-2, Buffer.from(x, 'base64url')],
    [-3, Buffer.from(y, 'base64url')],
  ])
}

/** The part of CBOR (RFC 8949) that attestation needs. */
function cbor(value: Cbor): Buffer {
  if (typeof value === 'number') return value < 0 ? head(1, -value - 1) : head(0, value)
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)])
  if (value instanceof Uint8Array) return Buffer.concat([head(2, value.length), value])
  if (value instanceof Map) {
    const entries = [...(value as CborMap)].flatMap(([name, member]) => [cbor(name), cbor(member)])
    return Buffer.concat([head(5, value.size), ...entries])
  }
  const items = value as readonly Cbor[]
  return Buffer.concat([head(4, items.length), ...items.map(cbor)])
}

function head(major: number, length: number): Buffer {
  if (length < 24) return Buffer.from([(major << 5) | length])
  if (length < 256) return Buffer.from([(major << 5) | 24, length])
  return Buffer.concat([Buffer.from([(major << 5) | 25]), uint16(length)])
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16BE(value)
  return bytes
}

const sha256 = (bytes: Buffer): Buffer => createHash('sha256').update(bytes).digest()
const base64url = (bytes: Buffer): string => bytes.toString('base64url')
