import type { ClientBase } from "pg";
import { from } from "pg-copy-streams";
import { statementError } from "./pg-errors.ts";

/** Runs `COPY ... FROM STDIN` with rows that are there whole; gives how many they were. @throws SqlError, commit_unknown */
export async function copyRows(client: ClientBase, text: string, rows: string): Promise<number> {
  const stream = client.query(from(text));
  try {
    await new Promise<void>((resolve, reject) => {
      stream.once("error", reject);
      stream.once("finish", resolve);
      stream.end(Buffer.from(rows, "utf8"));
    });
    return stream.rowCount;
  } catch (error) {
    throw statementError(error);
  }
}
