import { PassThrough } from "node:stream";
import type { PoolClient } from "pg";
import { expect, test } from "vitest";
import { PipelinedReads } from "./pipelined-reads.ts";
import type { RawRowReader } from "./raw-row-reader.ts";
import type { NamedRead, ReadPipeline } from "./read-pipeline.ts";

/** A connection that sends when the test allows it, as the driver does while a statement is running. */
function fakeConnection() {
  const sent: ReadPipeline[] = [];
  const reader = { listener: undefined, hasPrepared: () => true } as unknown as RawRowReader;
  const client = { query: (trip: ReadPipeline) => void sent.push(trip), release: () => undefined };
  const cancelled: object[] = [];
  const trips = new PipelinedReads({
    connections: 1,
    acquire: async () => client as unknown as PoolClient,
    readerOf: () => reader,
    cancel: async (one) => void cancelled.push(one),
  });
  return { trips, reader, sent, cancelled };
}

function aRead(rows: number[], signal?: AbortSignal): NamedRead {
  const takeRow = (_bytes: Buffer, start: number) => void rows.push(start);
  return { name: "r", text: "select 1", values: [], take_row: takeRow, restart: () => undefined, signal };
}

const SOCKET = { stream: new PassThrough() };

test("ignores the late end of the previous statement", async () => {
  const { trips, reader, sent } = fakeConnection();
  const rows: number[] = [];
  const reading = trips.read(aRead(rows));
  await new Promise(setImmediate);
  expect([sent.length, reader.listener]).toEqual([1, undefined]);
  sent[0]?.submit(SOCKET);
  expect(reader.listener).toBe(sent[0]);
  reader.listener?.takeRow(Buffer.alloc(8), 5, 8);
  expect(reader.listener?.takeReady()).toBe(false);
  sent[0]?.handleReadyForQuery();
  expect((await reading).row_count).toBe(1);
  expect(rows).toEqual([5]);
});

test("a cancelled read cancels only itself, before or after it is sent", async () => {
  const { trips, sent, cancelled } = fakeConnection();
  const away = new AbortController();
  const reading = trips.read(aRead([], away.signal)).catch(() => "left");
  await new Promise(setImmediate);
  away.abort();
  expect(cancelled).toEqual([]);
  sent[0]?.submit(SOCKET);
  expect(cancelled).toHaveLength(1);
  sent[0]?.handleError(new Error("gone"));
  expect(await reading).toBe("left");
});
