import type { JwtClaims } from '@signet/jwt'
import type { Request, RequestHandler } from 'express'
import { invalid } from '../errors/auth-error.js'

/** The audiences of AUTH_JWT_AUD and AUTH_JWT_ALLOWED_AUDIENCES. Requests and tokens may name no others (decision 0132). */
export class Audiences {
  constructor(
    /** The default for requests and users that name none. */
    readonly standard: string,
    private readonly allowed: readonly string[],
  ) {}

  /** The audience that the request itself names. Throws if it is not allowed. */
  requested(req: Request): string | undefined {
    const named = req.get('x-jwt-aud') ?? ''
    if (named === '') return undefined
    if (!this.allowed.includes(named)) throw invalid('X-JWT-AUD is not an allowed audience')
    return named
  }

  /** The first allowed audience of a token; undefined when it has none. */
  of(claims: JwtClaims): string | undefined {
    return listOf(claims).find((audience) => this.allowed.includes(audience))
  }

  /** Whether a token is only for other audiences. A token without an audience, such as a service token, is not. */
  isForOthers(claims: JwtClaims): boolean {
    return listOf(claims).length > 0 && this.of(claims) === undefined
  }

  /** Runs before all routes, so that an unknown audience is always an error. */
  readonly check: RequestHandler = (req, _res, next) => {
    this.requested(req)
    next()
  }
}

/** Whether a token is meant for an audience; one without `aud` is for none. */
export const isMeantFor = (claims: JwtClaims, wanted: string): boolean => listOf(claims).includes(wanted)

const listOf = ({ aud }: JwtClaims): readonly string[] => (typeof aud === 'string' ? [aud] : (aud ?? []))
