/** One thing wrong with key settings. The message names positions and rules, never values: values may be secret. */
export type KeyProblem = {
  readonly setting: 'secret' | 'keyId' | 'keys' | 'validMethods'
  readonly message: string
}

/** Unusable key settings, with every problem at once; the caller knows which variable each `setting` came from. */
export class KeySettingsError extends Error {
  override readonly name = 'KeySettingsError'

  constructor(readonly problems: readonly KeyProblem[]) {
    super(problems.map(({ setting, message }) => `${setting}: ${message}`).join('; '))
  }
}

/** Collects problems while checks go on, so that an operator sees all of them at the first start. */
export class KeyProblems {
  readonly #found: KeyProblem[] = []

  /** A reporter for one setting. */
  of(setting: KeyProblem['setting']): (message: string) => void {
    return (message) => void this.#found.push({ setting, message })
  }

  get any(): boolean {
    return this.#found.length > 0
  }

  toError(): KeySettingsError {
    return new KeySettingsError(this.#found)
  }
}
