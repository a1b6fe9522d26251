/** The settings that the API and the dispatcher share. */
export { sharedRules, sharedSettings } from './shared-settings.js'
