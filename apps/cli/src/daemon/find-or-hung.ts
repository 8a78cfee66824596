import { AppError } from "@appdb/contract/errors";
import type { Context, FoundDaemon } from "../context.ts";

/** The home's daemon; undefined when none runs, and the error of one that does not answer. @throws daemon_failed */
export async function findOrHung({ daemon }: Pick<Context, "daemon">): Promise<FoundDaemon | AppError | undefined> {
  return await daemon.find().catch((error: unknown) => {
    if (!(error instanceof AppError) || error.code !== "daemon_hung") throw error;
    return error;
  });
}
