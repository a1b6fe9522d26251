export type SmsChannel = 'sms' | 'whatsapp'

export type SmsSender = {
  /**
   * Sends the code in the configured text to `phone` (digits without `+`). Throws `over_sms_send_rate_limit`, or
   * `sms_send_failed` (422) when the gateway refused. `messageId` is the gateway's own.
   */
  send(phone: string, code: string, channel: SmsChannel): Promise<{ messageId: string }>
}

/** Contract 9.1. The `provider` member picks the gateway and carries its credentials. */
export type SmsConfig = {
  /** AUTH_SMS_TEMPLATE: `{{ .Code }}` becomes the code. */
  template: string
  /** Undefined when none is configured: sending then fails with `unexpected_failure`. */
  gateway: SmsGatewayConfig | undefined
}

export type SmsGatewayConfig =
  | {
      provider: 'twilio'
      accountSid: string
      authToken: string
      /** A messaging service SID or a sender number. */
      messageServiceSid: string
      /** WhatsApp content template; its variable 1 is the code. */
      contentSid?: string | undefined
    }
  | { provider: 'messagebird'; accessKey: string; originator: string }
  | { provider: 'textlocal'; apiKey: string; sender: string }
  | { provider: 'vonage'; apiKey: string; apiSecret: string; from: string }
