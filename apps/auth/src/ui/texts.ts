import type { Catalogues } from '@signet/language'
import { pageTextsOf, type PageTexts } from '@signet/pages'
import accountDe from './texts/account.de.json' with { type: 'json' }
import accountEn from './texts/account.en.json' with { type: 'json' }
import operatorDe from './texts/operator.de.json' with { type: 'json' }
import operatorEn from './texts/operator.en.json' with { type: 'json' }
import passkeyDe from './texts/passkey.de.json' with { type: 'json' }
import passkeyEn from './texts/passkey.en.json' with { type: 'json' }
import signInDe from './texts/sign-in.de.json' with { type: 'json' }
import signInEn from './texts/sign-in.en.json' with { type: 'json' }

// Each part of the pages has its own pair of files.
const en = { ...signInEn, ...accountEn, ...operatorEn, ...passkeyEn }
const de = { ...signInDe, ...accountDe, ...operatorDe, ...passkeyDe }

export type UiKey = keyof typeof en

export const uiCatalogues: Catalogues<UiKey> = { en, de }

/** The texts of the pages in the language of one reader. */
export type UiTexts = PageTexts<UiKey>
export const uiTextsIn = pageTextsOf(uiCatalogues)

export const isUiKey = (key: string): key is UiKey => Object.hasOwn(en, key)
