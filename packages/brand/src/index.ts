export { SIGNET, type Brand, type Logo } from './brand.js'
export { brandOf, brandSettings, type BrandConfig } from './brand-settings.js'
export { measures, palettes, tokenRules, type Palette } from './tokens.js'
