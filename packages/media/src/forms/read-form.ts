import { isUtf8 } from "node:buffer";
import { createHash, randomBytes } from "node:crypto";
import { closeSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { appError } from "@appdb/contract/errors";
import { printableName } from "@appdb/contract/media-uri";
import { nearestName } from "@appdb/contract/nearest";
import { limitVariable } from "@appdb/contract/service-limits";
import type { FormLimits, FormReader, ReceivedForm, UploadedFile } from "@appdb/engine/ports";
import { createFile, removeFile, writeAllOf } from "@appdb/system/files/descriptors";
import { type FreePieces, pieceFreer } from "@appdb/system/files/free-pieces";
import { isDiskFull } from "@appdb/system/files/is-disk-full";
import { createTurnShares, type TurnShares } from "@appdb/system/network/turn-shares";
import { Busboy, type BusboyFileStream, type BusboyHeaders, type BusboyInstance } from "@fastify/busboy";
import { SNIFFED_BYTES } from "../files/sniff-type.ts";

const MAX_PARTS = 2_000;
const MAX_NAME_BYTES = 200;
/** A part of this type is a file, also without a file name. */
const OCTETS = "application/octet-stream";
/** All forms together take so many bytes in a turn of the event loop: hashing them takes less than a millisecond. */
const TURN_BYTES = 64 * 1_024;
/**
 * A file is written when so many bytes or pieces of it have arrived. Each write needs Node's pool of threads, and the
 * event loop takes longer to call it than to receive a piece.
 */
const WRITE_BYTES = 256 * 1_024;
const WRITE_PIECES = 64;
/** Files of a form are held in memory up to so many bytes together: the content of most pictures is never read from a disk. */
const MEMORY_BYTES = 128 * 1_024;

/**
 * Receives forms with their files in a folder, which is private and on the disk of the local store. In `lentFolder`
 * workers see those that are not stored, by the same name. `prefix`: the beginning of all names.
 */
export function createFormReader(folder: string, lentFolder = folder, prefix = ""): FormReader {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const shares = createTurnShares(TURN_BYTES);
  const free = pieceFreer();
  return {
    read: (body, contentType, limits) =>
      new Receiving([folder, lentFolder], prefix, limits, free).read(inShares(body, shares), contentType),
  };
}

/** The same pieces, so that all forms together leave most of each turn of the event loop to other requests. */
async function* inShares(body: AsyncIterable<Uint8Array>, shares: TurnShares): AsyncGenerator<Uint8Array> {
  const nextTurn = () => new Promise<void>((resolve) => shares.onNextTurn("forms", resolve));
  if (!shares.count("forms", 0)) await nextTurn();
  for await (const piece of body) {
    // all forms may have waited for one event, as a query
    if (!shares.count("forms", piece.length)) await nextTurn();
    yield piece;
  }
}

/** A form that is being received. */
class Receiving implements ReceivedForm {
  readonly fields: (readonly [name: string, value: string])[] = [];
  readonly files: UploadedFile[] = [];
  readonly #folders: readonly [own: string, lent: string];
  readonly #prefix: string;
  readonly #limits: FormLimits;
  readonly #free: FreePieces;
  readonly #names: string[] = [];
  readonly #writing: Promise<void>[] = [];
  readonly #streams: Readable[] = [];
  #fileBytes = 0;
  #heldBytes = 0;
  #fieldBytes = 0;
  #refusal: unknown;
  #stop = (): void => undefined;
  /** Resolves when the form is refused: a part that is not read holds the parser. */
  readonly #refused = new Promise<void>((resolve) => {
    this.#stop = resolve;
  });

  constructor(folders: readonly [own: string, lent: string], prefix: string, limits: FormLimits, free: FreePieces) {
    this.#folders = folders;
    this.#prefix = prefix;
    this.#limits = limits;
    this.#free = free;
  }

  async read(body: AsyncIterable<Uint8Array>, contentType: string): Promise<ReceivedForm> {
    try {
      await this.#receive(this.#open(contentType), body);
      await Promise.all(this.#writing);
      if (this.#refusal !== undefined) throw this.#refusal;
      return this;
    } catch (error) {
      this.#refuse(error);
      // The parser may not end them any more.
      for (const stream of this.#streams) stream.destroy();
      await Promise.allSettled(this.#writing);
      await this[Symbol.asyncDispose]();
      throw isDiskFull(this.#refusal) ? diskFull(this.#refusal) : this.#refusal;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const paths = this.#names.splice(0).flatMap((name) => this.#folders.map((folder) => join(folder, name)));
    await Promise.all(paths.map(removeFile));
  }

  #open(contentType: string): BusboyInstance {
    try {
      const busboy = new Busboy({
        headers: { "content-type": contentType } as BusboyHeaders,
        limits: {
          parts: MAX_PARTS,
          fieldNameSize: MAX_NAME_BYTES,
          headerPairs: 20,
        },
        // the parser would replace bytes of a text that are not UTF-8
        isPartAFile: () => true,
      });
      // The parser gives undefined for a part without a name, whatever its types say.
      busboy.on("file", (field: string | undefined, stream, name: string | undefined, _encoding, type) => {
        if (name === undefined && type !== OCTETS) this.#takeField(field ?? "", stream);
        else this.#takeFile(field ?? "", stream, name ?? "");
      });
      busboy.on("partsLimit", () => this.#refuse(invalidForm(`It has more than ${MAX_PARTS} parts.`)));
      return busboy;
    } catch (cause) {
      throw invalidForm(`Its content type has no boundary: ${JSON.stringify(contentType.slice(0, 100))}.`, cause);
    }
  }

  /** Passes the body to the parser at the speed of the disk. */
  async #receive(busboy: BusboyInstance, body: AsyncIterable<Uint8Array>): Promise<void> {
    const ended = new Promise<void>((resolve, reject) => {
      busboy.once("finish", resolve);
      busboy.once("error", (cause) => reject(invalidForm(`It cannot be parsed: ${(cause as Error).message}.`, cause)));
    });
    // It is awaited below, unless the body breaks off first.
    ended.catch(() => undefined);
    try {
      for await (const piece of body) {
        if (this.#refusal !== undefined) break;
        if (busboy.write(piece)) continue;
        await Promise.race([new Promise((resolve) => busboy.once("drain", resolve)), ended, this.#refused]);
      }
      if (this.#refusal !== undefined) throw this.#refusal;
      busboy.end();
      await Promise.race([ended, this.#refused]);
    } catch (error) {
      busboy.destroy();
      throw error;
    }
  }

  #takeField(name: string, stream: BusboyFileStream): void {
    if (name === "") {
      this.#refusePart(stream, invalidForm("It has a part without a name."));
      return;
    }
    const pieces: Buffer[] = [];
    this.#countField(Buffer.byteLength(name));
    this.#streams.push(stream);
    stream.on("error", (cause) => this.#refuse(invalidForm(`It cannot be parsed: ${cause.message}.`, cause)));
    stream.on("data", (piece: Buffer) => {
      this.#countField(piece.length);
      if (this.#refusal === undefined) pieces.push(piece);
    });
    stream.on("end", () => {
      const content = Buffer.concat(pieces);
      if (isUtf8(content)) this.fields.push([name, content.toString("utf8")]);
      else this.#refuse(notUtf8(name.slice(0, 100)));
    });
  }

  #countField(bytes: number): void {
    this.#fieldBytes += bytes;
    if (this.#fieldBytes > this.#limits.field_bytes) this.#refuse(fieldsTooLarge(this.#limits.field_bytes));
    try {
      this.#limits.countFields?.(bytes);
    } catch (error) {
      this.#refuse(error);
    }
  }

  #takeFile(field: string, stream: BusboyFileStream, name: string): void {
    if (field === "") {
      this.#refusePart(stream, invalidForm("It has a file without the name of a field."));
      return;
    }
    if (!this.#limits.files.includes(field)) {
      const suggestion = nearestName(field, this.#limits.files);
      const question = suggestion === undefined ? "" : `Did you mean "${suggestion}"? `;
      this.#refusePart(
        stream,
        appError("invalid_request", {
          detail: `The form has a file for "${field.slice(0, 100)}", which takes no file in this route.`,
          hint: `${question}The route takes files for: ${this.#limits.files.join(", ")}.`,
          errors: [{ pointer: `/${field.slice(0, 100)}`, detail: "This field is not a file." }],
        }),
      );
      return;
    }
    this.#streams.push(stream);
    // A part that breaks off is also an error of its stream, perhaps after that was read.
    stream.on("error", (cause) => this.#refuse(invalidForm(`It cannot be parsed: ${cause.message}.`, cause)));
    const writing = this.#save(stream).then((saved) => {
      // A browser sends an empty part for an input without a file.
      if (saved.bytes > 0 || name !== "") this.files.push({ field, name: plainName(name), ...saved });
    });
    writing.catch((error: unknown) => {
      this.#refuse(error);
      stream.resume();
    });
    this.#writing.push(writing);
  }

  async #save(stream: Readable): Promise<Omit<UploadedFile, "field" | "name">> {
    const hash = createHash("sha256");
    const head: Buffer[] = [];
    const held: Buffer[] = [];
    let heldBytes = 0;
    let bytes = 0;
    let file: number | undefined;
    let path: Promise<string> | undefined;
    let writing: Promise<void> | undefined;
    try {
      for await (const piece of stream as AsyncIterable<Buffer>) {
        if (this.#refusal !== undefined) break;
        if (bytes < SNIFFED_BYTES) head.push(Buffer.from(piece.subarray(0, SNIFFED_BYTES - bytes)));
        bytes += piece.length;
        this.#fileBytes += piece.length;
        if (this.#fileBytes > this.#limits.file_bytes) {
          this.#refuse(tooLarge(this.#limits.file_bytes));
          break;
        }
        hash.update(piece);
        held.push(piece);
        heldBytes += piece.length;
        if (file === undefined) {
          this.#heldBytes += piece.length;
          if (this.#heldBytes <= MEMORY_BYTES) continue;
          this.#heldBytes -= heldBytes;
          const name = this.#newPath();
          file = await this.#fromDisk(createFile(name, "wx", 0o600));
          path = Promise.resolve(name);
        }
        if (heldBytes < WRITE_BYTES && held.length < WRITE_PIECES) continue;
        heldBytes = 0;
        // the next pieces arrive meanwhile
        await writing;
        writing = this.#write(file, held.splice(0));
        // it is awaited before the next one
        writing.catch(() => undefined);
      }
      await writing;
      if (file !== undefined && held.length > 0 && this.#refusal === undefined) await this.#write(file, held.splice(0));
    } finally {
      await writing?.catch(() => undefined);
      if (file !== undefined) closeSync(file);
    }
    const content = file === undefined ? Buffer.concat(held) : undefined;
    this.#free(held);
    const write = async (held: Buffer): Promise<string> => {
      const name = this.#newPath();
      const file = await createFile(name, "wx", 0o600);
      try {
        if (held.length > 0) await writeAllOf(file, [held]);
      } finally {
        closeSync(file);
      }
      return name;
    };
    return {
      bytes,
      sha256: hash.digest("hex"),
      head: Buffer.concat(head),
      content,
      path() {
        path ??= write(content ?? Buffer.alloc(0));
        return path;
      },
    };
  }

  async #write(file: number, pieces: readonly Buffer[]): Promise<void> {
    await this.#fromDisk(writeAllOf(file, pieces));
    this.#free(pieces);
  }

  /** A failure of the disk is the reason of the refusal, and not that its stream ends then. */
  async #fromDisk<T>(work: Promise<T>): Promise<T> {
    return await work.catch((error: unknown) => {
      this.#refuse(error);
      throw error;
    });
  }

  /** The path of a file that disposing removes. */
  #newPath(): string {
    const name = this.#prefix + randomBytes(12).toString("hex");
    this.#names.push(name);
    return join(this.#folders[0], name);
  }

  /** A part that breaks off afterwards is an error of its stream, which would end the process without a listener. */
  #refusePart(stream: Readable, error: unknown): void {
    this.#refuse(error);
    stream.on("error", () => undefined).resume();
  }

  #refuse(error: unknown): void {
    this.#refusal ??= error;
    this.#stop();
  }
}

/** The last part of a name that can be printed, of at most 255 characters. */
function plainName(name: string): string {
  return [...printableName(name.split(/[\\/]/).at(-1) ?? "")].slice(-255).join("");
}

function invalidForm(reason: string, cause?: unknown): Error {
  return appError("invalid_form", {
    detail: `The body is not a valid form (multipart/form-data). ${reason}`,
    hint: "Send a form with a boundary, as browsers and `curl -F field=@file` do.",
    cause,
  });
}

function fieldsTooLarge(bytes: number): Error {
  return appError("payload_too_large", {
    detail: `The fields of the form have more than ${bytes} bytes.`,
    hint: "Send large content as a file, or less of it.",
    meta: { body_bytes: bytes },
  });
}

function notUtf8(field: string): Error {
  return appError("invalid_form", {
    detail: `The field "${field}" of the form is not UTF-8.`,
    hint: "Encode the text of the field as UTF-8.",
    errors: [{ pointer: `/${field}`, detail: "The text is not UTF-8." }],
  });
}

function tooLarge(bytes: number): Error {
  return appError("media_too_large", {
    detail: `The files of the form have more than ${bytes} bytes.`,
    hint: `Send smaller files, or raise the limit of the service (${limitVariable("upload_bytes")}).`,
    meta: { upload_bytes: bytes },
  });
}

function diskFull(cause: unknown): Error {
  return appError("disk_full", {
    detail: "The disk has no room for the uploaded files. Nothing was stored.",
    hint: "Free space on the disk, and send the request again.",
    cause,
  });
}
