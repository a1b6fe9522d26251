import { textsOf, type Texts } from '@signet/language'
import de from './texts/de.json' with { type: 'json' }
import en from './texts/en.json' with { type: 'json' }

export type LayoutTexts = Texts<keyof typeof en>
export const layoutCatalogues = { en, de }
export const layoutTextsIn = textsOf(layoutCatalogues)
