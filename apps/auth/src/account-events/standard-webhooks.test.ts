import { expect, it } from '@jest/globals'
import { parseSigningKey, signedHeaders } from './standard-webhooks.js'

it('signs the example that the libraries of the specification are tested with', () => {
  const key = parseSigningKey('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')
  const at = new Date(1_614_265_330_999)
  expect(
    signedHeaders(key, { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', body: '{"test": 2432232314}', at }),
  ).toEqual({
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  })
})

it.each(['', 'whsec_', 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'whsec_c2hvcnQ=', `whsec_${'!'.repeat(32)}`])(
  'refuses %p as a secret, and does not repeat it',
  (secret) => {
    expect(() => parseSigningKey(secret)).toThrow('must be whsec_ and the base64 of 24 to 64 bytes')
  },
)
