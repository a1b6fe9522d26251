export {
  askedLanguage,
  DEFAULT_LANGUAGE,
  languageOfLocale,
  languages,
  preferredLanguage,
  type Language,
} from './languages.js'
export { textsOf, type Catalogues, type MessageValue, type Texts } from './texts.js'
export { dateTimeText, durationText, timestampText, unitText } from './times.js'
