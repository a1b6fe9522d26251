const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/\bEdgA?\/|\bEdgiOS\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\bFirefox\/|\bFxiOS\//, 'Firefox'],
  [/\b(?:Headless)?Chrome\/|\bCriOS\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
]

const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b|\bMacintosh\b/, 'Mac'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
]

/** Browser and system as a request names them; null when they are unknown. */
export type Device = { readonly browser: string | null; readonly system: string | null }

/** The header is only a claim; it proves nothing. */
export function deviceOf(userAgent: string): Device {
  const nameIn = (known: typeof BROWSERS) => known.find(([pattern]) => pattern.test(userAgent))?.[1] ?? null
  return { browser: nameIn(BROWSERS), system: nameIn(SYSTEMS) }
}
