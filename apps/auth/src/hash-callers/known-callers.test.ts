import { expect, it } from '@jest/globals'
import { programOf } from '../administrators/admin.js'
import type { Live } from '../sessions/session.js'
import { authorized, inNetwork, stranger } from './known-callers.js'

const client = { key: '192.0.2.1' }
const { signal } = new AbortController()
const sessionOf = (isAnonymous: boolean) => ({ user: { isAnonymous }, session: {} }) as unknown as Live

it.each([
  ['one who has proven nothing', stranger({ client }), false],
  ['one whose network the account does not know', inNetwork({ client }, false), false],
  ['one whose network the account knows', inNetwork({ client }, true), true],
  ['a program of an operator', authorized(programOf({ aud: '', role: 'service_role' }), { client }), true],
  ["a user's session", authorized(sessionOf(false), { client }), true],
  ["a guest's session, which anyone may open", authorized(sessionOf(true), { client }), false],
])('a hash is for %s', (_, caller, isKnown) => {
  expect(caller).toEqual({ client, isKnown })
})

it('a hash is given up with its request', () => {
  expect(stranger({ client, signal })).toEqual({ client, isKnown: false, signal })
})
