export { describeMachine, isBusy } from './machine.js'
export { pageOf } from './page.js'
export { readLine } from './results.js'
