import { PageRefusal } from './refusals.js'

/** A form of this browser from before somebody signed in or out in it, as in another tab. */
export class StaleForm extends PageRefusal {
  constructor(
    /** The page with the form, which has what was typed. */
    readonly back: string,
  ) {
    super('forbidden', 'error.stale-form')
  }
}
