import { readCookie } from '@signet/http/browsers'
import type { Request } from 'express'

/** The session cookie (docs/specification.md#page-protection). Lax, because the first visit comes from another site. */
export class SessionCookie {
  readonly #name: string
  readonly #attributes: string

  constructor(baseUrl: string) {
    // Depends on the public URL, not on the socket, because TLS ends in front of us.
    const secure = baseUrl.startsWith('https://')
    this.#name = secure ? '__Host-signet_session' : 'signet_session'
    this.#attributes = `; Path=/${secure ? '; Secure' : ''}; HttpOnly; SameSite=Lax`
  }

  read(req: Request): string | undefined {
    return readCookie(req, this.#name)
  }

  /** Returns the header that sets a new id, or none if the browser already has it. */
  headers(newId: string | undefined): Record<string, string> {
    return newId === undefined ? {} : { 'Set-Cookie': `${this.#name}=${newId}${this.#attributes}` }
  }
}
