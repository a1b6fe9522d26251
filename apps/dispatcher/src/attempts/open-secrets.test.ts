import { randomBytes } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import {
  endpointSecretContext,
  SecretBox,
  SecretUnreadableError,
  type EndpointId,
  type SealedSecret,
} from '@signet/webhook-core'
import type { DeliverySnapshot } from '../deliveries/delivery-store.js'
import { OpenSecrets } from './open-secrets.js'

const box = SecretBox.parse(`k1:${randomBytes(32).toString('base64')}`)

function setUp(max?: number) {
  let opens = 0
  const counted = {
    hasKeyOf: (sealed: SealedSecret) => box.hasKeyOf(sealed),
    open: (sealed: SealedSecret, context: string) => {
      opens += 1
      return box.open(sealed, context)
    },
  }
  return { secrets: new OpenSecrets(counted, max), opens: () => opens }
}

function anEndpoint(
  id: string,
  secret: string | null = `whsec_${id}`,
  next: string | null = null,
): DeliverySnapshot['endpoint'] {
  const owner = { id: id as EndpointId, accountId: 'account' }
  return {
    ...owner,
    url: 'https://example.com/',
    urlVersion: 1,
    status: 1,
    deleted: false,
    heldUntil: null,
    secret: secret === null ? null : box.seal(secret, endpointSecretContext(owner)),
    nextSecret: next === null ? null : box.seal(next, endpointSecretContext(owner)),
  }
}

describe('OpenSecrets', () => {
  it('opens the secret of an endpoint once', () => {
    const { secrets, opens } = setUp()
    const endpoint = anEndpoint('1')
    const opened = { secret: 'whsec_1', nextSecret: null }
    expect([secrets.of(endpoint), secrets.of({ ...endpoint })]).toEqual([opened, opened])
    expect(opens()).toBe(1)
  })

  it('goes by the ciphertext: another one of the same endpoint is opened again', () => {
    const { secrets } = setUp()
    secrets.of(anEndpoint('1', 'whsec_old'))
    expect(secrets.of(anEndpoint('1', 'whsec_new')).secret).toBe('whsec_new')
  })

  it('opens both secrets of an endpoint once, and forgets the next one as soon as it is gone', () => {
    const { secrets, opens } = setUp()
    const endpoint = anEndpoint('1', 'whsec_old', 'whsec_new')
    for (let i = 0; i < 2; i += 1)
      expect(secrets.of(endpoint)).toEqual({ secret: 'whsec_old', nextSecret: 'whsec_new' })
    expect(opens()).toBe(2)
    expect(secrets.of({ ...endpoint, nextSecret: null })).toEqual({ secret: 'whsec_old', nextSecret: null })
    const active = { ...endpoint, secret: endpoint.nextSecret, nextSecret: null }
    expect(secrets.of(active)).toEqual({ secret: 'whsec_new', nextSecret: null })
  })

  it('gives no endpoint the secret of another one', () => {
    const { secrets } = setUp()
    const one = anEndpoint('1')
    secrets.of(one)
    expect(() => secrets.of({ ...anEndpoint('2'), secret: one.secret })).toThrow(SecretUnreadableError)
  })

  it('refuses an endpoint without a secret, also one that had one', () => {
    const { secrets } = setUp()
    secrets.of(anEndpoint('1'))
    expect(() => secrets.of(anEndpoint('1', null))).toThrow(SecretUnreadableError)
  })

  it('drops the least recently used when there are too many', () => {
    const { secrets, opens } = setUp(2)
    const [a, b, c] = [anEndpoint('a'), anEndpoint('b'), anEndpoint('c')]
    for (const endpoint of [a, b, a, c]) secrets.of(endpoint)
    expect(opens()).toBe(3)
    secrets.of(a)
    expect(opens()).toBe(3)
    secrets.of(b)
    expect(opens()).toBe(4)
  })
})
