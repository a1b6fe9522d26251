export { runLoad } from './run-load.js'
