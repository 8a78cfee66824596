import { limitVariable } from "@appdb/contract/service-limits";
import type { FormReader } from "@appdb/engine/ports";
import { ArrivingBodies } from "@appdb/engine/routes/arriving-bodies";
import { machineMb } from "@appdb/system/processes/machine-memory";

/** Maximum part of the memory for whole bodies. Parsed into rows, they take several times as much. */
export const MEMORY_SHARE = 16;
/** Maximum bytes of all whole bodies, as a multiple of the largest one. */
export const MOST_BODIES = 16;
const BYTES_PER_MB = 1_000_000;

/**
 * Limits the bodies that one service has in memory as a whole, from the first byte to the answer: a part of the memory
 * of its pod or machine, but at least the largest body.
 */
export function limitWholeBodies(bodyBytes: number, memoryMb?: number): ArrivingBodies {
  return new ArrivingBodies(maxWholeBytes(bodyBytes, memoryMb), {
    bodies: "Bodies of requests in memory",
    slow: (seconds) =>
      `The body of the request had not arrived after ${seconds} seconds, and another request needed its memory.`,
    raise: memoryMb === undefined ? `raise ${limitVariable("body_bytes")}` : "raise memory_mb of the database",
  });
}

/** Maximum bytes of whole bodies together. */
export function maxWholeBytes(bodyBytes: number, memoryMb = machineMb()): number {
  const share = Math.floor((memoryMb * BYTES_PER_MB) / MEMORY_SHARE);
  return Math.min(Math.max(share, bodyBytes), MOST_BODIES * bodyBytes);
}

/** Counts the fields of forms among whole bodies, until the forms are disposed. */
export function countForms(forms: FormReader, bodies: ArrivingBodies): FormReader {
  return {
    async read(body, contentType, limits) {
      let fail = (_error: Error): void => undefined;
      const ended = new Promise<never>((_resolve, reject) => {
        fail = reject;
      });
      // it is awaited only while the body arrives
      ended.catch(() => undefined);
      const counted = bodies.begin((error) => fail(error));
      try {
        const countFields = (bytes: number) => counted.add(bytes);
        const form = await forms.read(untilEnded(body, ended), contentType, { ...limits, countFields });
        counted.setWaiting(false);
        return {
          fields: form.fields,
          files: form.files,
          async [Symbol.asyncDispose]() {
            counted[Symbol.dispose]();
            await form[Symbol.asyncDispose]();
          },
        };
      } catch (error) {
        counted[Symbol.dispose]();
        throw error;
      }
    },
  };
}

/** The pieces of a body. Not a generator, whose return() would wait for the piece that its client does not send. */
function untilEnded(body: AsyncIterable<Uint8Array>, ended: Promise<never>): AsyncIterable<Uint8Array> {
  const pieces = body[Symbol.asyncIterator]();
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => Promise.race([pieces.next(), ended]),
      return: async () => {
        pieces.return?.().catch(() => undefined);
        return { done: true, value: undefined };
      },
    }),
  };
}
