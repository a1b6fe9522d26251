import type { Device } from '../../requests/device.js'
import type { UiTexts } from '../texts.js'

/** Browser and system for a person to recognize. */
export function deviceText(t: UiTexts, { browser, system }: Device): string {
  const shown = browser ?? t('device.unknown')
  return system === null ? shown : t('device.on', { browser: shown, system })
}
