import type { Catalogues, Language } from '@signet/language'
import de from './texts/warnings.de.json' with { type: 'json' }
import en from './texts/warnings.en.json' with { type: 'json' }

export type WarningKey = keyof typeof en

/** Texts of emails are templates: `{{ .Failures }}`. */
export const warningCatalogues: Catalogues<WarningKey> = { en, de }

export const warningText = (language: Language, key: WarningKey): string => warningCatalogues[language][key]

export const isWarningKey = (key: string): key is WarningKey => Object.hasOwn(en, key)
