/** Short-lived access to the tokens of an account: released at the end of the command and never stored. */
export type AccountAccess = {
  bearer: string
  /** May be empty; for display only. */
  email: string
  /** Gives up the access. */
  release: () => Promise<void>
}
