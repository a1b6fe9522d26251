import type { RouteSpec } from '@signet/http'
import type { Request } from 'express'

/** What a route requires of the bearer of a token; described in full in {@link Bearer} (decision 0122). */
export type GateName = 'read' | 'sign_out' | 'change' | 'change_strongly' | 'admin'

type Step<Caller> = (req: Request) => Promise<Caller>

/** An `authenticate` step that names what it requires, so that tests can check the list of routes. */
export type Gated<Caller> = Step<Caller> & { readonly gate: GateName; readonly addsWayIn?: boolean }

export const gated = <Caller>(gate: GateName, step: Step<Caller>): Gated<Caller> =>
  Object.assign(step, { gate })

/** The gate of a route, checked again once the body has arrived: a client may send it late, and lose its rights in the meantime. */
export const throughout = <Caller>(gate: Gated<Caller>) => ({ authenticate: gate, authenticateAgain: gate })

/** The same gate followed by one more step. */
export const narrowed = <Outer, Inner>(outer: Gated<Outer>, step: (caller: Outer) => Inner): Gated<Inner> =>
  gated(outer.gate, async (req) => step(await outer(req)))

/** The gate of a route; undefined for one that is open to all. */
export function gateOf({
  authenticate,
}: Pick<RouteSpec<unknown, unknown>, 'authenticate'>): GateName | undefined {
  return authenticate !== undefined && 'gate' in authenticate
    ? (authenticate as Gated<unknown>).gate
    : undefined
}

/** Whether the route adds a way to sign in, which needs a recent proof of some sessions. */
export const addsWayIn = ({ authenticate }: Pick<RouteSpec<unknown, unknown>, 'authenticate'>): boolean =>
  authenticate !== undefined && 'addsWayIn' in authenticate
