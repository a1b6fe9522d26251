import type { Request } from 'express'
import { requestLanguage } from '../../requests/request-language.js'
import { uiTextsIn, type UiTexts } from '../texts.js'

/** The texts in the language of a request. */
export const textsFor = (req: Request): UiTexts => uiTextsIn(requestLanguage(req))
