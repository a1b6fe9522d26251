import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server'
import type { User } from '../users/user.js'
import { handleOf } from './user-handle.js'

/** Settings of WebAuthn (docs/specification.md#configuration, AUTH_WEBAUTHN_*). */
export type RelyingPartyRules = {
  readonly id: string
  readonly name: string
  readonly origins: readonly string[]
  readonly challengeMs: number
}

/** What an authenticator created for an account. */
export type NewCredential = {
  readonly credentialId: Buffer
  readonly publicKey: Buffer
  readonly signCount: number
  readonly transports: readonly string[]
}

/** What a verified response says. The counter still has to be compared. */
export type Assertion = { readonly signCount: number; readonly userVerified: boolean }

type Known = { readonly credentialId: Buffer; readonly transports: readonly string[] }

type Creation = {
  user: User
  challenge: Buffer
  /** Passkeys are found without a name, so the authenticator has to store them. */
  residentKey: 'required' | 'discouraged'
  /** Authenticators that hold one of these refuse to create another. */
  exclude: readonly Known[]
}

/** EdDSA, ES256 and RS256, which cover the authenticators in use. */
const ALGORITHMS = [-8, -7, -257]
const MAX_KEY_BYTES = 2048
/** The limit of Web Authentication section 7.1, and of the column. */
const MAX_ID_BYTES = 1023
const KNOWN_TRANSPORTS: ReadonlySet<string> = new Set([
  'ble',
  'cable',
  'hybrid',
  'internal',
  'nfc',
  'smart-card',
  'usb',
])

/** Loaded with the first ceremony, because its files would take a quarter of the start-up time of the service. */
const library = () => import('@simplewebauthn/server')
const helpers = () => import('@simplewebauthn/server/helpers')

/** The WebAuthn ceremonies: what to ask browsers for, and whether their answers are valid (docs/specification.md#webauthn). */
export class RelyingParty {
  constructor(private readonly rules: RelyingPartyRules) {}

  async creationOptions({
    user,
    challenge,
    residentKey,
    exclude,
  }: Creation): Promise<PublicKeyCredentialCreationOptionsJSON> {
    const { generateRegistrationOptions } = await library()
    const { id: rpID, name: rpName, challengeMs: timeout } = this.rules
    const userName = user.email ?? user.phone ?? user.id
    return generateRegistrationOptions({
      rpID,
      rpName,
      userID: new Uint8Array(handleOf(user.id)),
      userName,
      userDisplayName: displayNameOf(user) ?? userName,
      challenge: new Uint8Array(challenge),
      timeout,
      attestationType: 'none',
      excludeCredentials: exclude.map(described),
      authenticatorSelection: { residentKey, userVerification: 'preferred' },
      supportedAlgorithmIDs: ALGORITHMS,
    })
  }

  /** Without `allow` the authenticator offers the passkeys that it has for this site. */
  async requestOptions(
    challenge: Buffer,
    allow: readonly Known[] = [],
  ): Promise<PublicKeyCredentialRequestOptionsJSON> {
    const { generateAuthenticationOptions } = await library()
    const { id: rpID, challengeMs: timeout } = this.rules
    return generateAuthenticationOptions({
      rpID,
      challenge: new Uint8Array(challenge),
      timeout,
      allowCredentials: allow.map(described),
      userVerification: 'preferred',
    })
  }

  /** Null for an invalid response, for any reason. */
  async verifyCreation(answer: object, challenge: Buffer): Promise<NewCredential | null> {
    const { verifyRegistrationResponse } = await library()
    const { id: expectedRPID, origins } = this.rules
    try {
      const response = await withoutAttestation(answer as RegistrationResponseJSON)
      await refuseFrames(response.response.clientDataJSON)
      const { verified, registrationInfo } = await verifyRegistrationResponse({
        response,
        expectedChallenge: challenge.toString('base64url'),
        expectedOrigin: [...origins],
        expectedRPID,
        requireUserVerification: false,
        supportedAlgorithmIDs: ALGORITHMS,
      })
      if (!verified) return null
      const { id, publicKey, counter } = registrationInfo.credential
      const credentialId = Buffer.from(id, 'base64url')
      if (id !== response.id || credentialId.length > MAX_ID_BYTES || publicKey.length > MAX_KEY_BYTES)
        return null
      return {
        credentialId,
        publicKey: Buffer.from(publicKey),
        signCount: counter,
        transports: transportsOf(response.response.transports),
      }
    } catch {
      return null
    }
  }

  /** Null for an invalid response, for any reason. */
  async verifyRequest(
    answer: object,
    challenge: Buffer,
    { credentialId, publicKey }: Pick<NewCredential, 'credentialId' | 'publicKey'>,
  ): Promise<Assertion | null> {
    const { verifyAuthenticationResponse } = await library()
    const { id: expectedRPID, origins } = this.rules
    try {
      const response = answer as AuthenticationResponseJSON
      await refuseFrames(response.response.clientDataJSON)
      const { verified, authenticationInfo } = await verifyAuthenticationResponse({
        response,
        expectedChallenge: challenge.toString('base64url'),
        expectedOrigin: [...origins],
        expectedRPID,
        requireUserVerification: false,
        credential: {
          id: credentialId.toString('base64url'),
          publicKey: new Uint8Array(publicKey),
          // The library would compare counters before it knows who signed. The statement that stores the new counter compares them.
          counter: 0,
        },
      })
      if (!verified) return null
      return { signCount: authenticationInfo.newCounter, userVerified: authenticationInfo.userVerified }
    } catch {
      return null
    }
  }
}

/** The credential that an answer names. */
export function credentialIdOf(answer: object): Buffer {
  const { id } = answer as { id?: unknown }
  return Buffer.from(typeof id === 'string' ? id : '', 'base64url')
}

/**
 * Attestation is not requested and proves nothing here. If a statement arrives anyway, it is dropped unread: it names certificates, and
 * checking those would fetch addresses that the sender chose.
 */
async function withoutAttestation(answer: RegistrationResponseJSON): Promise<RegistrationResponseJSON> {
  const { decodeAttestationObject, isoBase64URL, isoCBOR } = await helpers()
  const authData = decodeAttestationObject(isoBase64URL.toBuffer(answer.response.attestationObject)).get(
    'authData',
  )
  const bare = new Map<string, unknown>([
    ['fmt', 'none'],
    ['attStmt', new Map()],
    ['authData', authData],
  ])
  const attestationObject = isoBase64URL.fromBuffer(isoCBOR.encode(bare as never))
  return { ...answer, response: { ...answer.response, attestationObject } }
}

/** Refuses requests in a frame, in which a page of another site could show them. */
async function refuseFrames(clientDataJSON: string): Promise<void> {
  const { decodeClientDataJSON } = await helpers()
  if (decodeClientDataJSON(clientDataJSON).crossOrigin === true)
    throw new Error('asked for in a frame of another site')
}

const described = ({ credentialId, transports }: Known) => ({
  id: credentialId.toString('base64url'),
  transports: [...transports],
})

/** A hint for browsers. Values that we do not know are dropped. */
const transportsOf = (transports: unknown): string[] =>
  Array.isArray(transports)
    ? [
        ...new Set(
          transports.filter((word): word is string => typeof word === 'string' && KNOWN_TRANSPORTS.has(word)),
        ),
      ]
    : []

function displayNameOf({ userMetadata }: User): string | undefined {
  const name = userMetadata['full_name'] ?? userMetadata['name']
  return typeof name === 'string' && name !== '' ? name : undefined
}
