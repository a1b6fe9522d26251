export { AppError, isAppError, type AppErrorOptions, type ErrorKind } from './app-error.js'
