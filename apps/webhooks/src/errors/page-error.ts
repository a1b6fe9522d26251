import { AppError, type AppErrorOptions, type ErrorKind } from '@signet/errors'
import en from '../pages/texts/pages.en.json' with { type: 'json' }

/** Texts that say on their own what went wrong. The others name pages and buttons, or take arguments. */
export type PageErrorKey = Exclude<
  Extract<keyof typeof en, `error.${string}`>,
  `error.title.${string}` | 'error.start' | 'error.wait'
>

/** An error that a person can cause or see. Pages explain it in the reader's language, and programs get the English text. */
export class PageError extends AppError {
  constructor(
    kind: ErrorKind,
    code: string,
    readonly key: PageErrorKey,
    options: AppErrorOptions = {},
  ) {
    super(kind, code, en[key], options)
  }
}
