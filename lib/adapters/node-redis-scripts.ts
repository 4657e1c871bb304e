import { invalidateReply, stampReply } from "../protocol/replies";
import {
  INVALIDATE_SCRIPT,
  INVALIDATE_SCRIPT_SHA1,
  invalidateCall,
  type RedisScriptCall,
  STAMP_SCRIPT,
  STAMP_SCRIPT_SHA1,
  stampCall,
} from "../protocol/scripts";

/** A script as `createClient({ scripts })` of node-redis takes it, in the form of version 4 and in that of 5 and 6. */
export type DialCacheRedisScript<Args extends unknown[], Reply> = {
  readonly SCRIPT: string;
  readonly SHA1: string;
  readonly NUMBER_OF_KEYS: number;
  readonly FIRST_KEY_INDEX: number;
  readonly IS_READ_ONLY: false;
  transformArguments(this: void, ...args: Args): (string | Buffer)[];
  parseCommand(
    this: void,
    parser: { push(...args: (string | Buffer)[]): unknown; pushKey(key: string | Buffer): unknown },
    ...args: Args
  ): void;
  transformReply(this: void, reply: unknown): Reply;
};

/** The scripts of tracked keys, by the names they get as methods of the client. */
export type DialCacheRedisScripts = {
  /** Stamps a placeholder: value key, watermark key, nonce, time to live in milliseconds. */
  readonly dialcacheStamp: DialCacheRedisScript<
    [valueKey: string, watermarkKey: string, nonce: Buffer, cacheTtlMs: number],
    boolean
  >;
  /** Raises a watermark: its key, the buffer in milliseconds. */
  readonly dialcacheInvalidate: DialCacheRedisScript<[watermarkKey: string, futureBufferMs: number], void>;
};

/**
 * For `createClient({ scripts: dialcacheRedisScripts })`. The adapter does not need them there; an application that
 * calls the scripts itself may.
 */
export const dialcacheRedisScripts: DialCacheRedisScripts = {
  dialcacheStamp: script(
    { SCRIPT: STAMP_SCRIPT, SHA1: STAMP_SCRIPT_SHA1, NUMBER_OF_KEYS: 2 },
    (valueKey, watermarkKey, nonce, cacheTtlMs) => stampCall({ valueKey, watermarkKey, nonce, cacheTtlMs }),
    stampReply,
  ),
  dialcacheInvalidate: script(
    { SCRIPT: INVALIDATE_SCRIPT, SHA1: INVALIDATE_SCRIPT_SHA1, NUMBER_OF_KEYS: 1 },
    (watermarkKey, futureBufferMs) => invalidateCall({ watermarkKey, futureBufferMs }),
    invalidateReply,
  ),
};

function script<Args extends unknown[], Reply>(
  text: { SCRIPT: string; SHA1: string; NUMBER_OF_KEYS: number },
  call: (...args: Args) => RedisScriptCall,
  transformReply: (reply: unknown) => Reply,
): DialCacheRedisScript<Args, Reply> {
  return {
    ...text,
    FIRST_KEY_INDEX: 0,
    IS_READ_ONLY: false,
    transformArguments: (...args) => {
      const { keys, args: rest } = call(...args);
      return [...keys, ...rest];
    },
    parseCommand: (parser, ...args) => {
      const { keys, args: rest } = call(...args);
      for (const key of keys) parser.pushKey(key);
      parser.push(...rest);
    },
    transformReply,
  };
}
