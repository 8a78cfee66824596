import { AppError } from "@appdb/contract/errors";
import type { Context, ControlAccess } from "../context.ts";
import type { Credential } from "./find-credential.ts";
import type { ControlPlaneAddress } from "./find-server.ts";

/**
 * Ends a session at its server. False when it had already ended, or, after a warning, when the server was unreachable.
 * @throws interrupted
 */
export async function endSession(
  ctx: Pick<Context, "out" | "signal">,
  connect: ControlAccess["connect"],
  server: ControlPlaneAddress,
  session: Credential,
): Promise<boolean> {
  try {
    const client = connect(server, session);
    for await (const { current, id } of client.each("sessionList", {}, { signal: ctx.signal })) {
      if (!current) continue;
      await client.call("sessionRevoke", { params: { id } }, { signal: ctx.signal });
      return true;
    }
    return false;
  } catch (error) {
    if (!(error instanceof AppError) || error.code === "interrupted") throw error;
    if (error.code === "not_signed_in" || error.code === "session_not_found") return false;
    ctx.out.note(`warning: the server could not be reached and keeps the session until it expires: ${error.message}`);
    return false;
  }
}
