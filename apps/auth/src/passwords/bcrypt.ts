/** Synchronous bcrypt: only a worker thread may call it. */
export type Bcrypt = {
  hash(password: string, cost: number): string
  verify(password: string, hash: string): boolean
}

export type BcryptChoice = 'auto' | 'javascript' | 'native'

/** More bytes than these have no influence on a bcrypt hash. */
export const BCRYPT_MAX_BYTES = 72

async function javascript(): Promise<Bcrypt> {
  const { default: bcryptjs } = await import('bcryptjs')
  return {
    hash: (password, cost) => bcryptjs.hashSync(password, cost),
    verify: (password, hash) => bcryptjs.compareSync(password, hash),
  }
}

/** The native implementation, where its binary loads, else the JavaScript one. Both make and read the same hashes. */
export async function loadBcrypt(choice: BcryptChoice): Promise<Bcrypt> {
  if (choice === 'javascript') return javascript()
  try {
    const native = await import('@node-rs/bcrypt')
    return {
      hash: (password, cost) => native.hashSync(password, { cost }),
      verify: (password, hash) => native.verifySync(password, hash),
    }
  } catch (error) {
    // An optional dependency: no binary for this platform is a normal case.
    if (choice === 'auto') return await javascript()
    throw error
  }
}
