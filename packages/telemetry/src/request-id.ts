import { randomUUID } from 'node:crypto'

export const newRequestId = (): string => randomUUID()

/** An inherited request id when it is short and harmless to print, else a fresh one. */
export const pickRequestId = (inherited: string | undefined): string =>
  inherited !== undefined && /^[\w.:/+=-]{1,128}$/.test(inherited) ? inherited : newRequestId()
