import { randomUUID } from 'node:crypto'

export const newRequestId = (): string => randomUUID()

/** Returns the inherited request id if it is short and safe to print, or a new one. */
export const pickRequestId = (inherited: string | undefined): string =>
  inherited !== undefined && /^[\w.:/+=-]{1,128}$/.test(inherited) ? inherited : newRequestId()
