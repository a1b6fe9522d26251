/** Burst of CPU time for an account: enough to convert hundreds of ordinary pages. */
export const BURST_MS = 30_000
/** Milliseconds of CPU time per millisecond: half of a thread. */
const REFILL = 0.5
const MAX_REMEMBERED = 10_000

/** CPU time for conversions, per account and process. Over its budget, an account's HTML is sent unconverted, without a wait. */
export class CpuBudget {
  readonly #accounts = new Map<string, { leftMs: number; at: number }>()

  constructor(private readonly now: () => number = () => performance.now()) {}

  leftMs(accountId: string): number {
    const account = this.#accounts.get(accountId)
    return account ? Math.min(BURST_MS, account.leftMs + (this.now() - account.at) * REFILL) : BURST_MS
  }

  spend(accountId: string, cpuMs: number): void {
    this.#accounts.set(accountId, { leftMs: this.leftMs(accountId) - cpuMs, at: this.now() })
    if (this.#accounts.size <= MAX_REMEMBERED) return
    for (const id of this.#accounts.keys()) if (this.leftMs(id) >= BURST_MS) this.#accounts.delete(id)
  }
}
