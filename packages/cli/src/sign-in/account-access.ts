/** Short-lived access to the tokens of an account. It is released at the end of the command and never stored. */
export type AccountAccess = {
  bearer: string
  /** May be empty; for display only. */
  email: string
  /** Ends the access. */
  release: () => Promise<void>
}
