import { describe, expect, it } from '@jest/globals'
import { anEmail, get, post, put, type Json } from './support/api.js'
import { signInWith, userOf } from './support/fake-provider.js'
import { admin, EMAIL_PROOFS, useProofSite, type EmailProof } from './support/proof-site.js'
import { anId } from './support/provider-site.js'

const site = useProofSite()

const BY_MESSAGE = EMAIL_PROOFS.filter((name) => name !== 'an administrator')
const LARGE = 'x'.repeat(5000)

/** An account of a stranger, who signed in through a provider that does not vouch for the address and added metadata. */
const aStrangersAccount = async () => {
  const email = anEmail()
  site.github(anId(), { email, verified: false })
  const target = await signInWith(site.server, 'github')
  const token = target.fragment['access_token'] ?? ''
  await put(site.server, '/user', { data: { from: 'stranger' } }, { token })
  return { email, id: String((await userOf(site.server, target))['id']), token }
}
const change = async (id: string, body: Json) => {
  const answer = await put(site.server, `/admin/users/${id}`, body, { ...admin, versioned: true })
  expect(answer.status).toBe(200)
  return answer.body['user_metadata'] as Json
}
const metadataAfter = async (proof: EmailProof, email: string) =>
  (await site.prove(proof, email))['user_metadata'] as Json

describe('metadata that an administrator writes about an account which a stranger made through a provider', () => {
  it('stays when the same request confirms the address', async () => {
    const { id } = await aStrangersAccount()
    const answered = await change(id, { email_confirm: true, user_metadata: { plan: 'gold' } })
    expect(answered).toMatchObject({ plan: 'gold' })
    expect(answered).not.toHaveProperty('from')
    const { body } = await get(site.server, `/admin/users/${id}`, admin)
    expect(body['user_metadata']).toEqual(answered)
  })

  it.each(BY_MESSAGE)('stays with the password, when it is proven: %s', async (proof) => {
    const { id, email } = await aStrangersAccount()
    await change(id, { password: 'given by the administrator', user_metadata: { plan: 'gold', gone: 1 } })
    await change(id, { user_metadata: { seats: 3, gone: null } })
    const metadata = await metadataAfter(proof, email)
    expect(metadata).toMatchObject({ plan: 'gold', seats: 3 })
    expect(metadata).not.toHaveProperty('gone')
    expect(metadata).not.toHaveProperty('from')
  })

  it('stays beside what an invitation brought', async () => {
    const { id, email } = await aStrangersAccount()
    await post(site.server, '/invite', { email, data: { team: 'blue', gone: null } }, admin)
    await change(id, { user_metadata: { plan: 'gold' } })
    const metadata = await metadataAfter('a magic link', email)
    expect(metadata).toMatchObject({ team: 'blue', plan: 'gold' })
    expect(metadata).not.toHaveProperty('gone')
  })

  it('is the stranger’s while nobody says whose the address is', async () => {
    const { id, email } = await aStrangersAccount()
    expect(await change(id, { user_metadata: { plan: 'gold' } })).toMatchObject({ plan: 'gold' })
    expect(await metadataAfter('a magic link', email)).not.toHaveProperty('plan')
  })

  it('still fits into a token when the stranger made room for more of it', async () => {
    const { id, email, token } = await aStrangersAccount()
    await post(site.server, '/invite', { email, data: { one: LARGE } }, admin)
    const shrunk = await put(site.server, '/user', { data: { one: null } }, { token })
    expect(shrunk.status).toBe(200)
    await change(id, { user_metadata: { two: LARGE } })
    const metadata = await metadataAfter('a magic link', email)
    expect(Object.keys(metadata).filter((name) => metadata[name] === LARGE)).toHaveLength(1)
  })
})
