import { measures, palettes, type Palette } from '@signet/brand'

/** The tokens of our pages under the names that Bull Board has for them. */
export function queueTheme(accent: string) {
  const { light, dark } = palettes(accent)
  return { light: themeOf(light), dark: themeOf(dark) }
}

const themeOf = (colors: Palette) => ({
  'font-sans': measures.font,
  'font-mono': measures.mono,
  radius: measures.radius,
  background: colors.bg,
  foreground: colors.text,
  card: colors.card,
  popover: colors.card,
  primary: colors.accent,
  'primary-foreground': colors.onAccent,
  'muted-foreground': colors.soft,
  border: colors.line,
  sidebar: colors.card,
  'sidebar-border': colors.line,
  destructive: colors.bad,
})
