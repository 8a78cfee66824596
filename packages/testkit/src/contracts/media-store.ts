import { createHash, randomBytes } from "node:crypto";
import { bytesContent } from "@appdb/media/stores/content";
import type { MediaContent, MediaStore } from "@appdb/media/stores/media-store";
import { describe, expect, test } from "vitest";

const TYPE = { content_type: "image/png" };
/** Two whole parts and a piece of a third. */
const LARGE_BYTES = (40 << 20) + 7;

/** A store that must keep what the port says. */
export interface MediaStoreUnderTest {
  readonly name: string;
  /** Opens a store that holds nothing. */
  open(): Promise<MediaStore>;
  /** The same place by a wrong secret, which is the text `hidden`; undefined where nothing is checked. */
  openDenied(hidden: string): Promise<MediaStore | undefined>;
  /** A bucket or folder that does not exist. */
  openMissing(): Promise<MediaStore>;
  /** A server that does not answer; undefined for a store without one. */
  openUnreachable(): Promise<MediaStore | undefined>;
  /** How its addresses work: without any; without a look at the signature; as they should. */
  readonly signing: "none" | "unchecked" | "checked";
}

/** Registers what every store for media must do. */
export function testMediaStore(underTest: MediaStoreUnderTest): void {
  describe(`the media store ${underTest.name}`, () => {
    test("an object is read as it was stored, in whole and in part", async () => {
      await using store = await underTest.open();
      const bytes = randomBytes(100_000);
      expect(await store.put("ab/one.png", bytesContent(bytes), { ...TYPE, sha256: sha256(bytes) })).toEqual({
        created: true,
      });
      const found = await store.head("ab/one.png");
      expect(found).toMatchObject({ key: "ab/one.png", bytes: bytes.length, version: expect.stringMatching(/./) });
      expect((await store.list({ prefix: "ab/one" })).objects).toEqual([found]);
      expect(await read(store, "ab/one.png")).toEqual(bytes);
      expect(await read(store, "ab/one.png", 10, 5_000)).toEqual(bytes.subarray(10, 5_000));
      expect(await read(store, "ab/one.png", 99_999, 100_000)).toEqual(bytes.subarray(99_999));
      expect(await read(store, "ab/one.png", 5, 5)).toEqual(Buffer.alloc(0));
      const part = await store.get("ab/one.png", { range: { start: 1, end: 2 } });
      expect([part.bytes, part.version]).toEqual([bytes.length, found?.version]);
      await drain(part.body);
    });

    test("an object of several parts is stored whole", async () => {
      await using store = await underTest.open();
      const bytes = randomBytes(LARGE_BYTES);
      await store.put("large.bin", bytesContent(bytes), { ...TYPE, sha256: sha256(bytes) });
      const { body, bytes: length } = await store.get("large.bin");
      expect(length).toBe(LARGE_BYTES);
      const hash = createHash("sha256");
      for await (const piece of body) hash.update(piece);
      expect(hash.digest("hex")).toBe(sha256(bytes));
      const at = LARGE_BYTES - 20;
      expect(await read(store, "large.bin", at, LARGE_BYTES)).toEqual(bytes.subarray(at));
    });

    test("an empty object is one", async () => {
      await using store = await underTest.open();
      await store.put("empty", bytesContent(Buffer.alloc(0)), TYPE);
      expect(await store.head("empty")).toMatchObject({ bytes: 0 });
      expect(await read(store, "empty")).toEqual(Buffer.alloc(0));
    });

    test("an object never changes: a second put of its key writes nothing", async () => {
      await using store = await underTest.open();
      const [one, other] = [Buffer.from("one"), Buffer.from("another")];
      expect(await store.put("key", bytesContent(one), TYPE)).toEqual({ created: true });
      expect(await store.put("key", bytesContent(other), TYPE)).toEqual({ created: false });
      expect(await read(store, "key")).toEqual(one);
      const large = randomBytes(LARGE_BYTES);
      expect(await store.put("key", bytesContent(large), TYPE)).toEqual({ created: false });
      expect(await read(store, "key")).toEqual(one);
    });

    test("of puts of one key at once exactly one creates the object", async () => {
      await using store = await underTest.open();
      const bytes = randomBytes(200_000);
      const puts = Array.from({ length: 8 }, () => store.put("same", bytesContent(bytes), TYPE));
      expect((await Promise.all(puts)).filter(({ created }) => created)).toHaveLength(1);
      expect(await read(store, "same")).toEqual(bytes);
      expect((await store.list()).objects).toHaveLength(1);
    });

    test("a put that fails leaves no object", async () => {
      await using store = await underTest.open();
      const bytes = randomBytes(50_000);
      const wrong = store.put("wrong", bytesContent(bytes), { ...TYPE, sha256: sha256(Buffer.from("other")) });
      if (underTest.name !== "gcs" && underTest.name !== "azure") {
        await expect(wrong).rejects.toMatchObject({ code: "media_invalid" });
      } else await wrong;
      const cut: MediaContent = {
        bytes: LARGE_BYTES,
        async *read(start) {
          yield randomBytes(1_000);
          throw new Error(`cut at ${start}`);
        },
      };
      await expect(store.put("cut", cut, TYPE)).rejects.toThrow();
      const signal = AbortSignal.abort(new Error("gone"));
      await expect(store.put("aborted", bytesContent(bytes), { ...TYPE, signal })).rejects.toThrow();
      const keys = (await store.list()).objects.map(({ key }) => key);
      expect(keys.filter((key) => key !== "wrong")).toEqual([]);
    });

    test("a missing object has no head, is not found, and can be deleted", async () => {
      await using store = await underTest.open();
      expect(await store.head("nothing")).toBeUndefined();
      await expect(store.get("nothing").then(({ body }) => drain(body))).rejects.toMatchObject({
        code: "media_not_found",
      });
      await store.delete(["nothing", "nothing/else"]);
    });

    test("pages list every object once, in order, below a prefix", async () => {
      await using store = await underTest.open();
      const keys = ["a-b", "a.b", "a/1", "a/10", "a/2", "a0", "b/c/d", "b/c/e", "z"];
      await Promise.all(keys.map((key) => store.put(key, bytesContent(Buffer.from(key)), TYPE)));
      const found: string[] = [];
      let after: string | undefined;
      do {
        const page = await store.list({ limit: 2, after });
        expect(page.objects.length).toBeLessThanOrEqual(2);
        found.push(...page.objects.map(({ key }) => key));
        after = page.next;
      } while (after !== undefined);
      expect(found).toEqual(keys);
      expect((await store.list({ prefix: "a/" })).objects.map(({ key }) => key)).toEqual(["a/1", "a/10", "a/2"]);
      expect((await store.list({ prefix: "b/c" })).objects).toMatchObject([{ bytes: 5 }, { bytes: 5 }]);
      const [first] = (await store.list({ limit: 1 })).objects;
      expect(Math.abs((first?.modified_ms ?? 0) - Date.now())).toBeLessThan(120_000);
      await store.delete(keys.slice(1));
      expect((await store.list()).objects.map(({ key }) => key)).toEqual(["a-b"]);
    });

    test("a key that some store cannot have is refused before anything is done", async () => {
      await using store = await underTest.open();
      for (const key of ["", "/a", "a//b", "../a", "a/..", "a b", "é", ".drafts/x", "-a", "x".repeat(513)]) {
        await expect(Promise.resolve().then(() => store.put(key, bytesContent(Buffer.alloc(1)), TYPE))).rejects.toThrow(
          TypeError,
        );
      }
    });

    test("wrong credentials are named by their secrets, and never shown", async () => {
      const hidden = "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3JldA==";
      const store = await underTest.openDenied(hidden);
      if (store === undefined) return;
      await using denied = store;
      const error = await denied.put("key", bytesContent(Buffer.from("x")), TYPE).catch((thrown: Error) => thrown);
      expect(error).toMatchObject({ code: "media_denied" });
      expect((error as { hint?: string }).hint).toMatch(/secrets? (AWS_|AZURE_|GOOGLE_)/);
      expect(`${JSON.stringify(error)} ${(error as Error).message}`).not.toContain(hidden.slice(0, 12));
    });

    test("a store that does not exist has another error than one that does not answer", async () => {
      await using missing = await underTest.openMissing();
      await expect(missing.put("key", bytesContent(Buffer.from("x")), TYPE)).rejects.toMatchObject({
        code: "media_store_not_found",
      });
      const unreachable = await underTest.openUnreachable();
      if (unreachable === undefined) return;
      await using silent = unreachable;
      await expect(silent.head("key")).rejects.toMatchObject({ code: "media_unavailable" });
    });

    test("signed addresses read and write one object, until they expire", async () => {
      await using store = await underTest.open();
      const bytes = randomBytes(1_000);
      await store.put("signed.png", bytesContent(bytes), TYPE);
      const address = await store.signGet("signed.png", { expires_s: 60, disposition: 'attachment; filename="a.png"' });
      const target = await store.signPut("put.png", { expires_s: 60, content_type: "image/png" });
      if (underTest.signing === "none") {
        expect([address, target]).toEqual([undefined, undefined]);
        return;
      }
      const got = await fetch(address ?? "");
      expect(got.status).toBe(200);
      expect(Buffer.from(await got.arrayBuffer())).toEqual(bytes);
      if (underTest.signing === "unchecked") return;
      const headers = { "content-type": "image/png", "x-ms-blob-type": "BlockBlob" };
      expect((await fetch(target ?? "", { method: "PUT", body: bytes, headers })).ok).toBe(true);
      expect(await read(store, "put.png")).toEqual(bytes);
      const other = (address ?? "").replace("signed.png", "put.png");
      expect((await fetch(other)).status).toBe(403);
      expect((await fetch(address ?? "", { method: "DELETE" })).status).toBeGreaterThanOrEqual(400);
    });
  });
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

async function read(store: MediaStore, key: string, start?: number, end?: number): Promise<Buffer> {
  const range = start === undefined || end === undefined ? {} : { range: { start, end } };
  const { body } = await store.get(key, range);
  return Buffer.concat(await drain(body));
}

async function drain(body: AsyncIterable<Uint8Array>): Promise<Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return pieces;
}
