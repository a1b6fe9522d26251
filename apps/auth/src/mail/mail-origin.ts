import { dateTimeText, DEFAULT_LANGUAGE, languageOfLocale, type Language } from '@signet/language'
import type { MessageOrigin } from '../outbox/outbox-handler.js'
import { deviceOf } from '../requests/device.js'
import { mailText } from './contents.js'
import type { MailVariables } from './kinds.js'

/** The request behind an email. */
export type MailOrigin = Omit<MessageOrigin, 'requestId'> & { readonly at: Date }

/** The language that the account's metadata names; otherwise that of the request. */
export const languageOf = ({ data }: MailVariables, { language }: MailOrigin): Language =>
  languageOfLocale(data?.['locale']) ?? language ?? DEFAULT_LANGUAGE

/** When, where and with which browser a person asked for an email or made a change. For administrators, it only says when. */
export function askedBy(language: Language, { at, ip, route, userAgent }: MailOrigin): string {
  const isByAdministrator = /^\/(admin|invite|ui\/operator)\b/.test(route)
  const place = isByAdministrator ? [] : [ip, deviceIn(language, userAgent ?? '')]
  return [dateTimeText(language, at), ...place].filter((part) => part !== '').join(', ')
}

/** Empty unless the browser is a known one, because programs also call the API on behalf of people. */
function deviceIn(language: Language, userAgent: string): string {
  const { browser, system } = deviceOf(userAgent)
  if (browser === null) return ''
  if (system === null) return browser
  return mailText(language, 'device.on').replace('{browser}', browser).replace('{system}', system)
}
