import type { Request } from 'express'
import { requestLanguage } from '../../requests/request-language.js'
import { uiTextsIn, type UiTexts } from '../texts.js'

/** The texts for whoever sent a request. */
export const textsFor = (req: Request): UiTexts => uiTextsIn(requestLanguage(req))
