import { preferredLanguage, type Catalogues } from '@signet/language'
import { pageTextsOf, type PageTexts } from '@signet/pages'
import type { Request } from 'express'
import de from './texts/pages.de.json' with { type: 'json' }
import en from './texts/pages.en.json' with { type: 'json' }
import portalDe from './texts/portal.de.json' with { type: 'json' }
import portalEn from './texts/portal.en.json' with { type: 'json' }

export type PageKey = keyof typeof en | keyof typeof portalEn

export const pageCatalogues: Catalogues<PageKey> = {
  en: { ...en, ...portalEn },
  de: { ...de, ...portalDe },
}

/** The texts of the pages in the language of one reader. */
export type Texts = PageTexts<PageKey>
export const textsIn = pageTextsOf(pageCatalogues)

/** In the language that the browser prefers. */
export const textsFor = (req: Request): Texts =>
  textsIn(preferredLanguage({ acceptLanguage: req.get('accept-language') }))
