import { createHash, randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { type FileHandle, open, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { appError } from "@appdb/contract/errors";
import { nearestName } from "@appdb/contract/nearest";
import { limitVariable } from "@appdb/contract/service-limits";
import type { FormLimits, FormReader, ReceivedForm, UploadedFile } from "@appdb/engine/ports";
import { isDiskFull } from "@appdb/system/files/is-disk-full";
import { createTurnShares, type TurnShares } from "@appdb/system/network/turn-shares";
import { Busboy, type BusboyFileStream, type BusboyHeaders, type BusboyInstance } from "@fastify/busboy";

const MAX_PARTS = 2_000;
const MAX_NAME_BYTES = 200;
/** All forms together take so many bytes in a turn of the event loop: hashing them takes less than a millisecond. */
const TURN_BYTES = 256 * 1_024;
/** Files of a form are held in memory up to so many bytes together: the content of most pictures is never read from a disk. */
const MEMORY_BYTES = 128 * 1_024;

/**
 * Receives forms with their files in a folder, which is private and on the disk of the local store. In `lentFolder`
 * workers see those that are not stored, by the same name. `prefix`: the beginning of all names.
 */
export function createFormReader(folder: string, lentFolder = folder, prefix = ""): FormReader {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const shares = createTurnShares(TURN_BYTES);
  return {
    read: (body, contentType, limits) =>
      new Receiving([folder, lentFolder], prefix, limits).read(inShares(body, shares), contentType),
  };
}

/** The same pieces, so that all forms together leave most of each turn of the event loop to other requests. */
async function* inShares(body: AsyncIterable<Uint8Array>, shares: TurnShares): AsyncGenerator<Uint8Array> {
  for await (const piece of body) {
    yield piece;
    if (!shares.count("forms", piece.length)) {
      await new Promise<void>((resolve) => shares.onNextTurn("forms", resolve));
    }
  }
}

/** A form that is being received. */
class Receiving implements ReceivedForm {
  readonly fields: (readonly [name: string, value: string])[] = [];
  readonly files: UploadedFile[] = [];
  readonly #folders: readonly [own: string, lent: string];
  readonly #prefix: string;
  readonly #limits: FormLimits;
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

  constructor(folders: readonly [own: string, lent: string], prefix: string, limits: FormLimits) {
    this.#folders = folders;
    this.#prefix = prefix;
    this.#limits = limits;
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
    await Promise.all(paths.map((path) => rm(path, { force: true })));
  }

  #open(contentType: string): BusboyInstance {
    try {
      const busboy = new Busboy({
        headers: { "content-type": contentType } as BusboyHeaders,
        limits: {
          parts: MAX_PARTS,
          fieldNameSize: MAX_NAME_BYTES,
          fieldSize: this.#limits.field_bytes,
          headerPairs: 20,
        },
      });
      // The parser gives undefined for a part without a name, whatever its types say.
      busboy.on("file", (field: string | undefined, stream, name) => this.#takeFile(field ?? "", stream, name ?? ""));
      busboy.on("field", (name: string | undefined, value: string | undefined, nameCut, valueCut) =>
        this.#takeField(name ?? "", value ?? "", nameCut || valueCut),
      );
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

  #takeField(name: string, value: string, isCut: boolean): void {
    if (name === "") {
      this.#refuse(invalidForm("It has a part without a name."));
      return;
    }
    this.#fieldBytes += Buffer.byteLength(name) + Buffer.byteLength(value);
    if (isCut || this.#fieldBytes > this.#limits.field_bytes) {
      this.#refuse(
        appError("payload_too_large", {
          detail: `The fields of the form have more than ${this.#limits.field_bytes} bytes.`,
          hint: "Send large content as a file, or less of it.",
          meta: { body_bytes: this.#limits.field_bytes },
        }),
      );
    } else this.fields.push([name, value]);
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
    const held: Buffer[] = [];
    let bytes = 0;
    let file: FileHandle | undefined;
    let path: Promise<string> | undefined;
    try {
      for await (const piece of stream as AsyncIterable<Buffer>) {
        if (this.#refusal !== undefined) break;
        bytes += piece.length;
        this.#fileBytes += piece.length;
        if (this.#fileBytes > this.#limits.file_bytes) {
          this.#refuse(tooLarge(this.#limits.file_bytes));
          break;
        }
        hash.update(piece);
        held.push(piece);
        this.#heldBytes += piece.length;
        if (file === undefined && this.#heldBytes <= MEMORY_BYTES) continue;
        if (file === undefined) {
          const name = this.#newPath();
          file = await this.#fromDisk(open(name, "wx", 0o600));
          path = Promise.resolve(name);
        }
        for (const part of held.splice(0)) {
          await this.#fromDisk(file.writeFile(part));
          this.#heldBytes -= part.length;
        }
      }
    } finally {
      await file?.close();
    }
    const content = file === undefined ? Buffer.concat(held) : undefined;
    const write = async (held: Buffer): Promise<string> => {
      const name = this.#newPath();
      await writeFile(name, held, { flag: "wx", mode: 0o600 });
      return name;
    };
    return {
      bytes,
      sha256: hash.digest("hex"),
      content,
      path() {
        path ??= write(content ?? Buffer.alloc(0));
        return path;
      },
    };
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

/** The last part of a name, without control characters and halves of characters, of at most 255 characters. */
function plainName(name: string): string {
  const last = name.split(/[\\/]/).at(-1) ?? "";
  return [...last.toWellFormed()]
    .filter((mark) => mark >= " " && mark !== "\x7f")
    .slice(-255)
    .join("");
}

function invalidForm(reason: string, cause?: unknown): Error {
  return appError("invalid_form", {
    detail: `The body is not a valid form (multipart/form-data). ${reason}`,
    hint: "Send a form with a boundary, as browsers and `curl -F field=@file` do.",
    cause,
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
