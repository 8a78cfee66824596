import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { Secret } from "@appdb/adapters/secret";
import { expect, test } from "vitest";
import * as z from "zod";
import { checkDocument, readLines } from "./pod-client.ts";

const pod = { uri: "cloud://acme:main", socket: "/none", token: new Secret("token") };
const answerOf = (...pieces: string[]) => Readable.from(pieces.map((piece) => Buffer.from(piece))) as IncomingMessage;

test("lines of an answer come whole, however they are cut", async () => {
  const lines: unknown[] = [];
  for await (const line of readLines(pod, answerOf('{"a":', "1}\n\n[2", "]\n"))) lines.push(line);
  expect(lines).toEqual([{ a: 1 }, [2]]);
});

test("a line without an end is not held for ever", async () => {
  const answer = answerOf(...Array.from({ length: 100 }, () => "x".repeat(1_000_000)));
  await expect(readLines(pod, answer).next()).rejects.toMatchObject({ code: "database_not_reached" });
});

test("a document with millions of wrong members is refused within the time of a test", () => {
  const schema = z.object({ tables: z.array(z.object({ name: z.string() })) });
  expect(() => checkDocument(pod, schema, { tables: Array(5_000_000).fill(0) })).toThrow("does not answer");
});
