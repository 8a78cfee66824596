import type { FastifyReply } from "fastify";

/** Takes the answer out of Fastify's hands and begins it. */
export function beginStream(reply: FastifyReply, headers: Readonly<Record<string, string>>): FastifyReply["raw"] {
  reply.hijack();
  reply.raw.writeHead(200, { ...plain(reply.getHeaders()), ...headers });
  // the head goes out now: whoever asked sees that the request was taken
  reply.raw.flushHeaders();
  return reply.raw;
}

/** Writes, and waits where the reader is slow. */
export async function writeText(
  raw: FastifyReply["raw"],
  text: string | Uint8Array,
  signal: AbortSignal,
): Promise<void> {
  if (raw.write(text) || signal.aborted) return;
  await new Promise<void>((resolve) => {
    const done = () => {
      raw.off("drain", done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    raw.once("drain", done);
    signal.addEventListener("abort", done);
  });
}

/** Headers that hooks have set; an answer in our own hands sends them itself. */
function plain(headers: ReturnType<FastifyReply["getHeaders"]>): Record<string, string | string[]> {
  const found: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) found[name] = Array.isArray(value) ? value : String(value);
  }
  return found;
}
