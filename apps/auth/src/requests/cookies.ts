import { readCookie } from '@signet/http/browsers'
import type { Request, Response } from 'express'

export type CookieOptions = {
  /** If left out, the cookie lasts until the browser is closed. */
  maxAgeSeconds?: number
  /** Also sent with cross-site form posts, which browsers allow only over TLS. */
  crossSite?: boolean
}

/** Cookies of this server, host-only and HttpOnly. They are Lax, because people arrive from other sites. */
export class Cookies {
  readonly #secure: boolean
  readonly #prefix: string

  constructor(externalUrl: string) {
    // The public URL decides this and not the socket, because TLS ends at a proxy.
    this.#secure = externalUrl.startsWith('https://')
    this.#prefix = this.#secure ? '__Host-' : ''
  }

  read(req: Request, name: string): string | undefined {
    return readCookie(req, `${this.#prefix}${name}`)
  }

  set(res: Response, name: string, value: string, options: CookieOptions = {}): void {
    this.#put(res, `${this.#prefix}${name}`, `${value}${this.#attributes(options)}`)
  }

  clear(res: Response, name: string): void {
    this.#put(res, `${this.#prefix}${name}`, this.#attributes({ maxAgeSeconds: 0 }))
  }

  #attributes({ maxAgeSeconds, crossSite = false }: CookieOptions): string {
    return [
      '; Path=/',
      this.#secure ? '; Secure' : '',
      '; HttpOnly',
      this.#sameSite(crossSite),
      maxAgeSeconds === undefined ? '' : `; Max-Age=${maxAgeSeconds}`,
    ].join('')
  }

  /** Browsers refuse None without TLS. Omitting the attribute comes closest to it. */
  #sameSite(crossSite: boolean): string {
    if (!crossSite) return '; SameSite=Lax'
    return this.#secure ? '; SameSite=None' : ''
  }

  /** Sends only the last Set-Cookie for each cookie (RFC 6265 section 4.1.1). */
  #put(res: Response, name: string, rest: string): void {
    const others = [res.getHeader('Set-Cookie') ?? []].flat().map(String)
    const kept = others.filter((line) => !line.startsWith(`${name}=`))
    res.setHeader('Set-Cookie', [...kept, `${name}=${rest}`])
  }
}
