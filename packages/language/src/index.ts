export {
  askedLanguage,
  DEFAULT_LANGUAGE,
  isLanguage,
  languageOfLocale,
  languages,
  preferredLanguage,
  type Language,
} from './languages.js'
export { textsOf, type Catalogues, type MessageValue, type MessageValues, type Texts } from './texts.js'
export { dateTimeText, durationText, timestampText, unitText } from './times.js'
