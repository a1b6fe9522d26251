import { measures, palettes, type Palette } from '@signet/brand'

/** The tokens of our pages under the names that Bull Board has for them. */
export function queueTheme(accent: string) {
  const { light, dark } = palettes(accent)
  return { light: themeOf(light), dark: themeOf(dark) }
}

const themeOf = (colours: Palette) => ({
  'font-sans': measures.font,
  'font-mono': measures.mono,
  radius: measures.radius,
  background: colours.bg,
  foreground: colours.text,
  card: colours.card,
  popover: colours.card,
  primary: colours.accent,
  'primary-foreground': colours.onAccent,
  'muted-foreground': colours.soft,
  border: colours.line,
  sidebar: colours.card,
  'sidebar-border': colours.line,
  destructive: colours.bad,
})
