export { SIGNET, type Brand } from './brand.js'
/** @public Part of the type that `brandSettings` returns. */
export type { Logo } from './brand.js'
export { brandOf, brandSettings, type BrandConfig } from './brand-settings.js'
export { measures, palettes, tokenRules, type Palette } from './tokens.js'
