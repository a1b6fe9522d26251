import { preferredLanguage, type Catalogues } from '@signet/language'
import { pageTextsOf, type PageTexts } from '@signet/pages'
import type { Request } from 'express'
import de from './texts/admin.de.json' with { type: 'json' }
import en from './texts/admin.en.json' with { type: 'json' }

type AdminKey = keyof typeof en
export type AdminTexts = PageTexts<AdminKey>

export const adminCatalogues: Catalogues<AdminKey> = { en, de }

const textsIn = pageTextsOf(adminCatalogues)

/** In the language that the browser prefers. */
export const textsFor = (req: Request): AdminTexts =>
  textsIn(preferredLanguage({ acceptLanguage: req.get('accept-language') }))
