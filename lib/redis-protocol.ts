/**
 * What a client of your own needs to serve entries together with this package's clients: frames, the rule of watermarks,
 * and the Lua scripts. Untracked keys need `encodeFrame()` and `decodeFrame()` around `SET ... PX` and `GET`.
 *
 * Tracked ones: read with one atomic `MGET` on the primary and `decodeTrackedReply()`; write with `encodePlaceholder()`,
 * its `SET ... PX`, and in order on the same connection `stampCall()`; when the server does not know the script
 * (`isNoScriptError()`), send the stamp alone again as `EVAL`, with the same nonce. A failed `SET` is the write's outcome.
 *
 * @module
 */
export {
  decodeFrame,
  encodeFrame,
  encodePlaceholder,
  REDIS_ENCODING_BINARY,
  REDIS_ENCODING_UTF8,
  REDIS_FRAME_HEADER_BYTES,
  REDIS_FRAME_VERSION,
  REDIS_NONCE_BYTES,
  REDIS_PLACEHOLDER_VERSION,
  type RedisPlaceholder,
} from "./protocol/frame";
export { invalidateReply, setReply, stampReply } from "./protocol/replies";
export {
  INVALIDATE_SCRIPT,
  INVALIDATE_SCRIPT_SHA1,
  invalidateCall,
  isNoScriptError,
  type RedisScriptCall,
  STAMP_SCRIPT,
  STAMP_SCRIPT_SHA1,
  scriptCommand,
  stampCall,
} from "./protocol/scripts";
export { decodeTrackedReply, watermarkAdmits } from "./protocol/watermark";
