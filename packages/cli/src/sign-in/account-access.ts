/** A short right to manage the tokens of an account: it is given back at the end of the command and never stored. */
export type AccountAccess = {
  bearer: string
  /** May be empty; for display only. */
  email: string
  /** Gives the right back. */
  release: () => Promise<void>
}
