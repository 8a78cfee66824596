import { randomBytes } from "node:crypto";
import { AppError, type ErrorCode } from "@appdb/contract/errors";
import { StoreTokens } from "@appdb/media/files/store-tokens";
import { refuseFileToken } from "../databases/row-files.ts";

const UNKNOWN: ReadonlySet<ErrorCode> = new Set(["table_not_found", "invalid_target"]);

/**
 * Addresses of files come without the home's token. A database that does not exist must answer them like one that did
 * not make them: other users of the machine would find the names of databases.
 * @throws media_address_invalid for such a database; errors of `open`
 */
export async function openAddressed<T>(kind: "file" | "store", token: string, open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    if (!(error instanceof AppError) || !UNKNOWN.has(error.code)) throw error;
    if (kind === "file") refuseFileToken(token);
    // no token is of this secret
    new StoreTokens(randomBytes(16).toString("hex"), "").read(token);
    throw error;
  }
}
