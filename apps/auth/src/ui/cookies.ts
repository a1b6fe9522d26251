import { type Request, type Response } from 'express'

/** The cookies of the pages. Lax, because people come from applications, providers and mails. */
export class PageCookies {
  readonly #prefix: string
  readonly #attributes: string

  constructor(externalUrl: string) {
    // Decided by the public URL, not by the socket: TLS ends in front of us.
    const secure = externalUrl.startsWith('https://')
    this.#prefix = secure ? '__Host-' : ''
    this.#attributes = `; Path=/${secure ? '; Secure' : ''}; HttpOnly; SameSite=Lax`
  }

  read(req: Request, name: string): string | undefined {
    for (const pair of (req.get('cookie') ?? '').split(';')) {
      const separator = pair.indexOf('=')
      if (pair.slice(0, separator).trim() === `${this.#prefix}${name}`)
        return pair.slice(separator + 1).trim()
    }
    return undefined
  }

  /** Until the browser is closed. */
  set(res: Response, name: string, value: string): void {
    this.#put(res, `${this.#prefix}${name}`, value)
  }

  clear(res: Response, name: string): void {
    this.#put(res, `${this.#prefix}${name}`, '; Max-Age=0')
  }

  /** The last word about a cookie is the only one (RFC 6265 section 4.1.1). */
  #put(res: Response, name: string, value: string): void {
    const others = [res.getHeader('Set-Cookie') ?? []].flat().map(String)
    const kept = others.filter((line) => !line.startsWith(`${name}=`))
    res.setHeader('Set-Cookie', [...kept, `${name}=${value}${this.#attributes}`])
  }
}
