import type { FormBrowser } from '@signet/testkit'
import { put } from './api.js'
import type { TestServer } from './server.js'
import { serviceToken } from './tokens.js'
import { aBrowser, aUserWithTotp, settle, signIn, type WithFactor } from '../ui/support.js'

export type OperatorInPerson = WithFactor & { browser: FormBrowser }

/** An administrator with a second factor. */
export async function anAdministrator(server: TestServer): Promise<WithFactor> {
  const user = await aUserWithTotp(server)
  await changeUser(server, user.user.id, { role: 'service_role' })
  return user
}

export const changeUser = (server: TestServer, id: string, changes: Record<string, unknown>) =>
  put(server, `/admin/users/${id}`, changes, { token: serviceToken() })

/** An administrator who has signed in on the pages with their second factor. */
export async function anOperator(server: TestServer): Promise<OperatorInPerson> {
  const user = await anAdministrator(server)
  const browser = aBrowser(server)
  const page = await settle(browser, await signIn(browser, user))
  await settle(browser, await browser.submit(page, '/ui/factor', { code: user.code() }))
  return { ...user, browser }
}
