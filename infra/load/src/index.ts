export { runLoad } from './run-load.js'
export { simulationText } from './simulation/report.js'
