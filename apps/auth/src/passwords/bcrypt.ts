/** Synchronous bcrypt, which only a worker thread may call. */
export type Bcrypt = {
  hash(password: string, cost: number): string
  verify(password: string, hash: string): boolean
}

export type BcryptChoice = 'auto' | 'javascript' | 'native'

/** Bytes beyond these do not affect a bcrypt hash. */
export const BCRYPT_MAX_BYTES = 72

async function javascript(): Promise<Bcrypt> {
  const { default: bcryptjs } = await import('bcryptjs')
  return {
    hash: (password, cost) => bcryptjs.hashSync(password, cost),
    verify: (password, hash) => bcryptjs.compareSync(password, hash),
  }
}

/** The native implementation if its binary loads, otherwise the one in JavaScript. Both make and read the same hashes. */
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
