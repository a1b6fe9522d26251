import type { AuthConfig } from '../config/config.js'
import { recoveryRules } from '../services/message-settings.js'
import type { MessageIntervals } from './context/sent-message.js'

/** How long people wait before the same message can be sent again, in milliseconds. */
export const messageIntervals = (config: AuthConfig): MessageIntervals => ({
  email: config.mailerMagicLinkMaxFrequency,
  sign_up: config.smtpMaxFrequency,
  recovery: recoveryRules(config).intervalMs,
  sms: config.smsMaxFrequency,
  sms_sign_up: config.smsMaxFrequency,
})
