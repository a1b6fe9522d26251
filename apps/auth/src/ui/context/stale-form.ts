import { PageRefusal } from './refusals.js'

/** A form that this browser got before a person signed in or out in it, for example in another tab. */
export class StaleForm extends PageRefusal {
  constructor(
    /** The URL of the page with the form, with what was typed there. */
    readonly back: string,
  ) {
    super('forbidden', 'error.stale-form')
  }
}
