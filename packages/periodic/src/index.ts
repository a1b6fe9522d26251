export { Periodic, type PeriodicOptions } from './periodic.js'
