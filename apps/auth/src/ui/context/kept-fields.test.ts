import { createSecretKey, randomBytes } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { Cookies } from '../../requests/cookies.js'
import { BrowserState } from './browser-state.js'
import { openKept, sealKept } from './kept-fields.js'

describe('what was typed into a form that came too late', () => {
  const cookies = new Cookies('https://auth.example.com')
  const state = new BrowserState({ key: createSecretKey(randomBytes(32)), cookies, now: () => new Date() })
  const browser = { id: 'one', mark: null, lastUserId: null }
  const typed: Record<string, string> = { email: 'ada@example.com', password: 'secret', code: '123456' }
  const sealed = sealKept(state, browser, (name) => typed[name] ?? '')

  it('comes back to that browser, without passwords and codes', () => {
    expect(openKept(state, browser, sealed)).toEqual({ email: 'ada@example.com' })
    expect(openKept(state, { id: 'other', mark: null, lastUserId: null }, sealed)).toEqual({})
    expect(openKept(state, browser, '')).toEqual({})
  })
})
