import { randomBytes } from "node:crypto";
import { HOME_STORE, type MediaPlace } from "@appdb/contract/media-place";
import { parseDatabaseUri } from "@appdb/contract/names";
import { urlOf } from "@appdb/contract/routes/api";
import { CONTROL_ROUTES } from "@appdb/contract/routes/control-paths";
import type { FileCell } from "@appdb/contract/routes/data-api";
import type { RouteAnswer } from "@appdb/engine/answers/answers";
import { type FileRequest, fileAnswer } from "@appdb/engine/answers/file-answer";
import { references, withReferences } from "@appdb/engine/answers/media-addresses";
import { hasCatalog, loadDefinitions } from "@appdb/engine/catalog/load-catalog";
import { destinationsOf } from "@appdb/engine/endpoints/media-routes";
import type { Logger, SqlPool } from "@appdb/engine/ports";
import { AddressTokens } from "@appdb/media/files/address-tokens";
import { type OpenMedia, openMedia } from "../media/open-media.ts";

/** A browser asks again, so that a person who signed out or left sees no file. */
const REVALIDATED = "private, no-cache";
const RANGE_UNSATISFIABLE = 416;

/** Makes the function that prints the control plane's path of a file in a database. */
export function printFileAddress(uri: string): (base: string, token: string) => string {
  const { database, organization } = parseDatabaseUri(uri);
  return (base, token) => base + urlOf(CONTROL_ROUTES.fileShow.path, { org: organization, db: database }, { token });
}

interface RowFilesDeps {
  readonly sql: SqlPool;
  readonly log: Logger;
  readonly place: MediaPlace;
  /** With the credentials of stores. */
  readonly env: Readonly<Record<string, string>>;
  printAddress(base: string, token: string): string;
}

/** The files of media cells, for people who look at rows. Stores are opened on first use. */
export class RowFiles implements AsyncDisposable {
  readonly #deps: RowFilesDeps;
  #opening: Promise<OpenMedia> | undefined;

  constructor(deps: RowFilesDeps) {
    this.#deps = deps;
  }

  /** JSON of rows with a description and an address (FileCell) in place of each marked reference. */
  async describe(rows: string): Promise<string> {
    if (references(rows).length === 0) return rows;
    const media = await this.#open();
    return withReferences(rows, (cell) => JSON.stringify(media.describe(cell)));
  }

  /** Opens the stores, and describes cells for people. */
  async describer(): Promise<(cell: string) => FileCell> {
    const media = await this.#open();
    return (cell) => media.describe(cell);
  }

  /** @throws media_address_invalid, media_not_found, media_unreachable and other errors of stores */
  async read(token: string, request: FileRequest): Promise<RouteAnswer> {
    if (!(await hasCatalog(this.#deps.sql))) refuseFileToken(token);
    const { files } = await this.#open();
    const file = await files.open(files.readAddress(token), request.signal);
    const answer = await fileAnswer(file, request, REVALIDATED);
    if (answer.status !== RANGE_UNSATISFIABLE) return answer;
    // a range that does not exist is ignored, which RFC 9110 allows
    return await fileAnswer(file, { ...request, headers: {} }, REVALIDATED);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const media = await this.#opening?.catch(() => undefined);
    await media?.[Symbol.asyncDispose]();
  }

  #open(): Promise<OpenMedia> {
    this.#opening ??= this.#openNow();
    // the next request tries again
    this.#opening.catch(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #openNow(): Promise<OpenMedia> {
    const { env, log, place, printAddress, sql } = this.#deps;
    const { tables } = await loadDefinitions(sql);
    const media = openMedia({
      // nothing is stored, so an invalid destination must not prevent reading
      place: { ...place, input: HOME_STORE, output: HOME_STORE },
      env,
      hosted: undefined,
      destinations: destinationsOf(tables),
      sql,
      log,
      print_address: printAddress,
    });
    try {
      await media.serve();
      return media;
    } catch (error) {
      await media[Symbol.asyncDispose]();
      throw error;
    }
  }
}

/** Refuses the token of an address where no database made one. @throws media_address_invalid */
export function refuseFileToken(token: string): never {
  new AddressTokens(randomBytes(32), 0).read(token);
  throw new TypeError("A token is not of a random secret.");
}
