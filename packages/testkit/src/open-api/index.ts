export { deliveryChecker, documentChecker, wrongExamples } from './document-checker.js'
export { runGeneratedClient } from './generated-client.js'
export { refuseWrongAnswers } from './watch-answers.js'
export { UNDOCUMENTED, watchProcess } from './watch-process.js'
