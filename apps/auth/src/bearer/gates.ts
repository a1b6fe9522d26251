import { type RouteSpec } from '@signet/http'
import { type Request } from 'express'

/** What the bearer of a token has to be; {@link Bearer} says it in full. */
export type GateName = 'read' | 'sign_out' | 'change' | 'change_strongly' | 'admin'

type Step<Caller> = (req: Request) => Promise<Caller>

/** An `authenticate` step that says which gate it is, so that the list of routes can be held to it. */
export type Gated<Caller> = Step<Caller> & { readonly gate: GateName }

export const gated = <Caller>(gate: GateName, step: Step<Caller>): Gated<Caller> =>
  Object.assign(step, { gate })

/** The same gate with one more step behind it. */
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
