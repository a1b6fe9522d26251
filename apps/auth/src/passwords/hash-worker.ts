import { workerData } from 'node:worker_threads'
import { verifySync as verifyArgon2 } from '@node-rs/argon2'
import { BCRYPT_MAX_BYTES, loadBcrypt, type Bcrypt, type BcryptChoice } from './bcrypt.js'
import { verifyFirebaseScrypt } from './firebase-scrypt.js'
import { parseHash } from './hash-formats.js'
import { type HashJob } from './hash-job.js'

// No await up here: from source this file is loaded with require.
const loading = loadBcrypt((workerData as { bcrypt: BcryptChoice }).bcrypt)

/** Entry of the worker threads: one job at a time, as long as it takes. */
export default async function runHashJob(job: HashJob): Promise<string | boolean> {
  const bcrypt = await loading
  // The libraries encode lone surrogates in different ways; U+FFFD, as everywhere else, makes them agree.
  const password = Buffer.from(job.password).toString()
  return job.kind === 'hash' ? bcrypt.hash(password, job.cost) : verify(bcrypt, job.hash, password)
}

function verify(bcrypt: Bcrypt, hash: string, password: string): boolean {
  const format = parseHash(hash)
  if (format === null) return false
  switch (format.algorithm) {
    case 'bcrypt': {
      // What bcrypt cuts off must not match; the work is done all the same, so that time says nothing.
      const matches = bcrypt.verify(password, hash)
      return matches && Buffer.byteLength(password) <= BCRYPT_MAX_BYTES
    }
    case 'argon2':
      return verifyArgon2(hash, password)
    case 'firebase-scrypt':
      return verifyFirebaseScrypt(format.parameters, password)
  }
}
