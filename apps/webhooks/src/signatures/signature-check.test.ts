import { expect, it } from '@jest/globals'
import type { DeliveryId } from '@signet/webhook-core'
import { deliveryHeaders } from '@signet/webhook-core/signature'
import { checkSignature } from './signature-check.js'

const LENGTH = 200_000
const spaces = ' '.repeat(LENGTH)
const signed = (signatures: string) =>
  `x-service-timestamp: 1\nx-service-signature: ${signatures}\n` +
  `webhook-id: evt_${'0'.repeat(32)}\nwebhook-timestamp: 1\nwebhook-signature: ${signatures}`

it.each([
  ['spaces inside a value', `x-a: y${spaces}y`],
  ['spaces around a name', `${spaces}x-a${spaces}y`],
  ['empty lines', '\r\n'.repeat(LENGTH)],
  ['headers', 'a:\n'.repeat(LENGTH)],
  ['signatures', signed('v1,a '.repeat(LENGTH))],
])('takes time in proportion to the text with many %s', (_, headers) => {
  const before = process.cpuUsage()
  const findings = checkSignature({ secret: `whsec_${'A'.repeat(43)}=`, headers, body: '{}' }, new Date())
  expect(findings.every(({ isRight }) => !isRight)).toBe(true)
  expect(process.cpuUsage(before).user / 1000).toBeLessThan(5000)
})

const secret = `whsec_${'A'.repeat(43)}=`
const now = new Date()
const headersFor = (body: string) =>
  Object.entries(
    deliveryHeaders({
      secret,
      body,
      timestamp: Math.floor(now.getTime() / 1000),
      eventType: 'summary.completed',
      eventId: `evt_${'0'.repeat(32)}`,
      deliveryId: '1' as DeliveryId,
    }),
  )
    .map(([name, value]) => `${name}: ${value}`)
    .join('\r\n')

it.each([
  ['LF', '{\n"a":"\\r\\n"\n}\n'],
  ['CRLF', '{\r\n}\r\n'],
  ['neither', '{}'],
  ['a lone return and text that is not ASCII', '\r\r\n\r{"é":\r"😀"}\r'],
])('takes the body as sent, and as a browser sends it, with %s', (_, body) => {
  const asSent = checkSignature({ secret, headers: headersFor(body), body }, now)
  expect(asSent.map(({ finding }) => finding)).toEqual(['right', 'right'])
  const signed = body.replaceAll('\r\n', '\n')
  const fromBrowser = signed.replaceAll('\n', '\r\n')
  const verdicts = checkSignature({ secret, headers: headersFor(signed), body: fromBrowser }, now)
  expect(verdicts.map(({ finding }) => finding)).toEqual(['right', 'right'])
})

it('reads as many headers as web servers take, and no more', () => {
  const before = (length: number) => `x-a: ${'y'.repeat(length)}\n${headersFor('{}')}`
  const findings = (headers: string) =>
    checkSignature({ secret, headers, body: '{}' }, now).map(({ finding }) => finding)
  expect(findings(before(60_000))).toEqual(['right', 'right'])
  expect(findings(before(70_000))).toEqual(['none'])
})
