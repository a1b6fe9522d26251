import {
  IdentityBusyError,
  IdentityUnavailableError,
  type IdentityClient,
} from '../identity/identity-client.js'

const FRESH_MS = 60_000
const NONE: ReadonlySet<string> = new Set()

type Deps = {
  /** As configured by the operator of this service. */
  configured: readonly string[]
  identity: Pick<IdentityClient, 'findProvidersOff'>
  now: () => Date
}

/** The external providers of the sign-in page: a button must not lead to one that the identity server has switched off. */
export class OfferedProviders {
  #asked: { at: number; off: Promise<ReadonlySet<string>> } | undefined

  constructor(private readonly deps: Deps) {}

  /** The configured providers that are not known to be off. Asks the identity server at most once a minute. */
  async list(): Promise<readonly string[]> {
    const { configured } = this.deps
    if (configured.length === 0) return configured
    const off = await this.#off()
    return configured.filter((name) => !off.has(name))
  }

  #off(): Promise<ReadonlySet<string>> {
    const at = this.deps.now().getTime()
    if (this.#asked === undefined || at - this.#asked.at >= FRESH_MS)
      this.#asked = { at, off: this.deps.identity.findProvidersOff().catch(noneWhenAway) }
    return this.#asked.off
  }
}

/** Without an answer all are shown: an identity server that is unavailable fails every other way to sign in as well. */
function noneWhenAway(error: unknown): ReadonlySet<string> {
  if (error instanceof IdentityUnavailableError || error instanceof IdentityBusyError) return NONE
  throw error
}
