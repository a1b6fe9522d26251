export { html, Html } from './html.js'
export { codeField, field, fieldState, waitingButton } from './fields.js'
export { hidden, notice } from './form.js'
export { brandIcon } from './brand.js'
export { formScript } from './form-script.js'
export { hourlyPlot } from './hourly-plot.js'
export { kitCatalogues, kitTexts, pageTextsOf, type PageTexts } from './page-texts.js'
export { pageScript } from './page-script.js'
export { contentHeading, pageAnswer, type Page } from './page.js'
export {
  captchaFields,
  captchaPolicy,
  captchaProviders,
  captchaWidget,
  type Captcha,
  type CaptchaProvider,
} from './captcha.js'
export { errorPage } from './error-page.js'
export { live, type LivePart } from './live.js'
export { facts, table, time } from './tables.js'
export { wideStyle } from './wide-style.js'
