import { PageRefusal } from './refusals.js'

/** A form that this browser got before a person signed in or out in it, for example in another tab. */
export class StaleForm extends PageRefusal {
  constructor(
    /** The page with the form, which has what was typed. */
    readonly back: string,
  ) {
    super('forbidden', 'error.stale-form')
  }
}
