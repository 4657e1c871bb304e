import { type ClientRead, READ_FAILED, READ_MISS, startClientRead, writeThroughClient } from "./client-io";
import { expectCall, nextCall } from "./hub";
import { FAILED, LOAD, MISS, PASSAGE, type ShadowFacts, WRITE_FAILED, WRITTEN } from "./native";
import type { Passage } from "./passage";
import type { RedisCachePayload, RedisReadRequest } from "./redis-types";
import type { RemoteLayer } from "./remote-layer";
import type { UseCase } from "./use-case";

/** What Redis held: null for nothing. */
export type Found = {
  readonly payload: RedisCachePayload;
  readonly createdAtMs: number | undefined;
  /** What became of the payload in its envelope; undefined when it was not compressed. */
  readonly passage: Passage | undefined;
} | null;

/** Whose request it is. */
export interface Requester {
  readonly useCase: UseCase;
  readonly remote: RemoteLayer;
  /** The job's number. */
  readonly number: number;
  readonly facts: ShadowFacts;
}

/**
 * Reads for a job. The native client's requests do not hold the process.
 * @param settled - Told what was found, or undefined for a failure.
 * @param gone - Told instead when the read was aborted, once the client has done with it.
 * @returns A read to abort, of a client that can.
 */
export function readForShadow(
  requester: Requester,
  settled: (found: Found | undefined) => void,
  gone: () => void,
): ClientRead | undefined {
  if (requester.remote.native) {
    readNatively(requester, settled);
    return undefined;
  }
  const { remote, useCase, facts } = requester;
  let heard = false;
  const read = startClientRead(remote.client, keysOf(facts), useCase.readTimeoutMs, (result, value, passage) => {
    heard = true;
    if (result === READ_FAILED) settled(undefined);
    else if (result === READ_MISS) settled(null);
    else settled({ payload: value as RedisCachePayload, createdAtMs: read.createdAtMs, passage });
  });
  void read.ended.then(() => {
    if (!heard) gone();
  });
  return read;
}

function readNatively({ useCase, number }: Requester, settled: (found: Found | undefined) => void): void {
  const call = nextCall();
  replyTo(call, useCase.instance.engine.readShadow(number, call), FAILED).then(([reply, value, passage]) => {
    if (reply === LOAD) {
      const [payload, createdAtMs] = value as [RedisCachePayload, number];
      settled({ payload, createdAtMs, passage });
    } else settled(reply === MISS ? null : undefined);
  });
}

/** Writes for a job. Whether the value was stored or refused; undefined for a failure. */
export async function writeForShadow(
  { useCase, remote, number, facts }: Requester,
  payload: string | Uint8Array,
): Promise<boolean | undefined> {
  const { recorder } = useCase;
  const sealed = (passage: Passage): void => {
    recorder.sealed(passage, recorder.observed ? Buffer.byteLength(payload) : 0, "remote_shadow");
  };
  try {
    if (!remote.native) {
      return await writeThroughClient(remote, { ...keysOf(facts), cacheTtlMs: facts.ttlMs }, payload, sealed);
    }
    const { instance } = useCase;
    const call = nextCall();
    const failure = instance.engine.writeShadow(number, call, payload as string | Buffer, instance.wallNow());
    const [reply, stored, passage] = await replyTo(call, failure, WRITE_FAILED);
    if (passage !== undefined) sealed(passage);
    return reply === WRITTEN ? (stored as boolean) : undefined;
  } catch {
    // Also for something that only looked like a Buffer.
    return undefined;
  }
}

/** A native callback must not run what follows: it only resolves this. */
function replyTo(
  call: number,
  failure: Parameters<typeof expectCall>[1],
  failed: number,
): Promise<readonly [reply: number, value: unknown, passage: Passage | undefined]> {
  return new Promise((resolve) => {
    let passage: Passage | undefined;
    const heard = (reply: number, value: unknown): void => {
      if (reply === PASSAGE) passage = value as Passage;
      else resolve([reply, value, passage]);
    };
    expectCall(call, failure, heard, failed);
  });
}

function keysOf({ valueKey, watermarkKey }: ShadowFacts): RedisReadRequest {
  return watermarkKey === undefined ? { valueKey } : { valueKey, watermarkKey };
}
