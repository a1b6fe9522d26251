import type { Request } from 'express'

/** Whether a request prefers HTML. Browsers name HTML explicitly; programs that accept anything get JSON. */
export const prefersHtml = (req: Request): boolean => req.accepts(['json', 'html']) === 'html'

/** The first cookie with this name. Browsers send a cookie without a name as its value alone, without `=`; it is skipped. */
export function readCookie(req: Request, name: string): string | undefined {
  for (const pair of (req.get('cookie') ?? '').split(';')) {
    const separator = pair.indexOf('=')
    if (separator !== -1 && pair.slice(0, separator).trim() === name) return pair.slice(separator + 1).trim()
  }
  return undefined
}
