import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import { PASSWORD } from '../support/api.js'
import { anAuthenticator, PASSKEY_ENVIRONMENT } from '../support/passkeys.js'
import type { TestServer } from '../support/server.js'
import { aClient, anAdmin, aSignedInClient, ok, startClientServer } from './support.js'

let server: TestServer
beforeAll(async () => {
  const { AUTH_MAILER_AUTOCONFIRM: _, ...env } = PASSKEY_ENVIRONMENT
  server = await startClientServer(env)
})
afterAll(() => server.close())

const aUserWithPasskey = async () => {
  const { client, user } = await aSignedInClient(server)
  const authenticator = anAuthenticator()
  const { challenge_id: challengeId, options } = await ok(client.passkey.startRegistration())
  const credential = authenticator.create(options)
  const passkey = await ok(client.passkey.verifyRegistration({ challengeId, credential }))
  return { client, user, authenticator, passkey }
}

describe('the published client uses passkeys', () => {
  it('from registration over sign-in to deletion', async () => {
    const { client, user, authenticator, passkey } = await aUserWithPasskey()
    expect(await ok(client.passkey.list())).toEqual([passkey])
    const renamed = await ok(client.passkey.update({ passkeyId: passkey.id, friendlyName: 'laptop' }))
    expect(renamed).toEqual({ ...passkey, friendly_name: 'laptop' })

    const elsewhere = aClient(server)
    const { challenge_id: challengeId, options } = await ok(elsewhere.passkey.startAuthentication())
    const credential = authenticator.get(options)
    const signedIn = await ok(elsewhere.passkey.verifyAuthentication({ challengeId, credential }))
    expect(signedIn.user?.id).toBe(user.id)
    const { session } = await ok(elsewhere.getSession())
    expect(session?.access_token).toBe(signedIn.session?.access_token)
    const levels = await ok(elsewhere.mfa.getAuthenticatorAssuranceLevel())
    expect(levels).toMatchObject({ currentLevel: 'aal2', nextLevel: 'aal2' })
    const replayed = await elsewhere.passkey.verifyAuthentication({ challengeId, credential })
    expect(replayed.error).toMatchObject({ code: 'webauthn_challenge_not_found' })

    expect((await client.passkey.delete({ passkeyId: passkey.id })).error).toBeNull()
    expect(await ok(client.passkey.list())).toEqual([])
    const again = await ok(elsewhere.passkey.startAuthentication())
    const late = await elsewhere.passkey.verifyAuthentication({
      challengeId: again.challenge_id,
      credential: authenticator.get(again.options),
    })
    expect(late.error).toMatchObject({ code: 'webauthn_verification_failed' })
  })

  it('as an administrator: lists and deletes those of a user', async () => {
    const { client, user, passkey } = await aUserWithPasskey()
    const admin = anAdmin(server)
    expect(await ok(admin.passkey.listPasskeys({ userId: user.id }))).toMatchObject([{ id: passkey.id }])
    const deleted = await admin.passkey.deletePasskey({ userId: user.id, passkeyId: passkey.id })
    expect(deleted.error).toBeNull()
    expect(await ok(client.passkey.list())).toEqual([])
  })

  it('and hears that they are off where they are', async () => {
    const plain = await startClientServer()
    try {
      const { client } = await aSignedInClient(plain)
      for (const call of [client.passkey.startRegistration(), client.passkey.startAuthentication()])
        expect((await call).error).toMatchObject({ status: 404, code: 'passkey_disabled' })
    } finally {
      await plain.close()
    }
  })
})

describe('the published client uses a security key as second factor', () => {
  it('from enrollment to aal2, and again after the next sign-in', async () => {
    const { client, email } = await aSignedInClient(server)
    const authenticator = anAuthenticator()
    const { id: factorId } = await ok(client.mfa.enroll({ factorType: 'webauthn', friendlyName: 'key' }))
    // Sends what the client's `mfa.webauthn` helpers send. The helpers themselves need a browser.
    const call = async (path: string, token: string, body: object) => {
      const answer = await fetch(`${server.url}/factors/${factorId}/${path}`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json;charset=UTF-8' },
        body: JSON.stringify(body),
      })
      expect(answer.status).toBe(200)
      return (await answer.json()) as {
        id: string
        access_token: string
        webauthn: {
          type: string
          credential_options: { publicKey: Parameters<typeof authenticator.create>[0] }
        }
      }
    }
    const site = { rpId: 'app.example.com', rpOrigins: ['https://app.example.com'] }
    const raise = async (token: string) => {
      const { id, webauthn } = await call('challenge', token, { webauthn: site })
      const { publicKey } = webauthn.credential_options
      const credential_response =
        webauthn.type === 'create' ? authenticator.create(publicKey) : authenticator.get(publicKey)
      return call('verify', token, {
        challenge_id: id,
        webauthn: { ...site, type: webauthn.type, credential_response },
      })
    }
    const first = (await ok(client.getSession())).session?.access_token ?? ''
    expect(decodeJwt((await raise(first)).access_token)).toMatchObject({ aal: 'aal2' })

    const again = aClient(server)
    const { session } = await ok(again.signInWithPassword({ email, password: PASSWORD }))
    const { all } = await ok(again.mfa.listFactors())
    expect(all).toMatchObject([{ id: factorId, factor_type: 'webauthn', status: 'verified' }])
    expect(decodeJwt((await raise(session.access_token)).access_token)).toMatchObject({ aal: 'aal2' })
  })
})
