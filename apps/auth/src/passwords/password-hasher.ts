/** Hashes and checks passwords off the event loop. */
export type PasswordHasher = {
  /** A bcrypt hash of a password of at most 72 bytes. Throws `unavailable` while the queue is full. */
  hash(password: string): Promise<string>
  /** Whether the password is the one that was hashed: bcrypt, argon2i/argon2id (PHC) or Firebase scrypt. */
  verify(hash: string, password: string): Promise<boolean>
  /** Costs what `verify` costs and says nothing: for unknown users, so that timing does not tell them apart. */
  verifyDummy(password: string): Promise<void>
  /** True when the stored hash was not made with bcrypt at the configured cost. */
  needsRehash(hash: string): boolean
  close(): Promise<void>
}

export type PasswordHasherOptions = {
  /** bcrypt cost of new hashes (contract section 7: 10). */
  cost?: number
  /** Worker threads; by default one for each core. */
  threads?: number
  /** Jobs that may wait for a thread; one more is refused with `unavailable`. */
  maxQueue?: number
  /** Told when a job enters and when it ends, for the counters of 12.5. */
  observe?: (operation: 'hash' | 'verify', phase: 'submitted' | 'completed') => void
}
