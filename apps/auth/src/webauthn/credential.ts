/** A passkey, or a security key that is a second factor. */
export type Credential = {
  readonly id: string
  readonly userId: string
  readonly credentialId: Buffer
  readonly publicKey: Buffer
  readonly transports: readonly string[]
  readonly friendlyName: string
  readonly createdAt: Date
  readonly lastUsedAt: Date | null
}
