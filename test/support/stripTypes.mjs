import { stripTypeScriptTypes } from 'node:module'

/** Jest transform: the very type stripping that Node itself applies, so that tests run what production runs. */
export default {
  process: (source) => ({ code: stripTypeScriptTypes(source) }),
}
