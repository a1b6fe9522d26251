import { readableOn } from './contrast.js'

/** Colors by their purpose. */
export type Palette = {
  /** Background of the page. */
  bg: string
  /** Background of the boxes with content. */
  card: string
  field: string
  text: string
  soft: string
  line: string
  accent: string
  onAccent: string
  good: string
  warn: string
  warnSoft: string
  bad: string
  badSoft: string
}

const LIGHT: Omit<Palette, 'accent' | 'onAccent'> = {
  bg: '#f4f4f7',
  card: '#ffffff',
  field: '#ffffff',
  text: '#1c1c28',
  soft: '#5a5a6e',
  line: '#dcdce6',
  good: '#14693f',
  warn: '#7a4a00',
  warnSoft: '#fdf1d8',
  bad: '#a3122f',
  badSoft: '#fdecef',
}

const DARK: Omit<Palette, 'accent' | 'onAccent'> = {
  bg: '#101018',
  card: '#1a1a25',
  field: '#12121b',
  text: '#ececf4',
  soft: '#a8a8bd',
  line: '#34344a',
  good: '#7fd8a8',
  warn: '#ffcf7d',
  warnSoft: '#3a2d12',
  bad: '#ff9db0',
  badSoft: '#3a1a23',
}

/** Everything except colors, as CSS. */
export const measures = {
  font: 'system-ui, sans-serif',
  mono: 'ui-monospace, monospace',
  radius: '.6rem',
  radiusLarge: '1rem',
  space: '1rem',
} as const

/** Backgrounds on which text in the accent color must be readable. */
export const lightGrounds = [LIGHT.bg, LIGHT.card] as const

/** Both palettes for an accent color that is readable on light grounds; on dark ones it is lightened until it is. */
export function palettes(accent: string): { light: Palette; dark: Palette } {
  const lightened = readableOn(accent, [DARK.bg, DARK.card])
  return {
    light: { ...LIGHT, accent, onAccent: readableOn('#ffffff', [accent]) },
    dark: { ...DARK, accent: lightened, onAccent: '#14142b' },
  }
}

/** The colors and measures as custom properties: light, or dark where the reader prefers that. */
export function tokenRules(accent: string): string {
  const { light, dark } = palettes(accent)
  return `:root { color-scheme: light dark; ${declared(light)}; ${declared(measures)} }
@media (prefers-color-scheme: dark) { :root { ${declared(dark)} } }
`
}

const declared = (values: Readonly<Record<string, string>>): string =>
  Object.entries(values)
    .map(([name, value]) => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}: ${value}`)
    .join('; ')
