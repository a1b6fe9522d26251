import { invalid } from '../errors/auth-error.js'
import type { SmsChannel } from '../sms/sms-sender.js'

/** `sms` unless the request names another one; WhatsApp needs twilio (docs/specification.md#sign-up). */
export function smsChannelOf(channel: string | undefined, smsProvider: string | undefined): SmsChannel {
  if (channel === undefined || channel === '' || channel === 'sms') return 'sms'
  if (channel === 'whatsapp' && smsProvider === 'twilio') return channel
  throw invalid('Invalid channel, supported values are "sms", or "whatsapp" with twilio')
}
