import type { FastifyReply, FastifyRequest } from "fastify";
import type { PodAnswer } from "../../pods/pod-client.ts";

/** Types that a page may show. All others, HTML, SVG and PDF among them, are downloaded: they can run scripts. */
const SHOWN = /^(?:image\/(?:apng|avif|bmp|gif|jpeg|png|tiff|webp|x-icon)|video\/[\w.+-]+|audio\/[\w.+-]+)$/;
const OTHER = "application/octet-stream";
/** What a header of the pod must look like to be passed on: a pod runs code of its tenant. */
const HEADERS = {
  etag: /^"[\w-]{1,100}"$/,
  "content-length": /^\d{1,15}$/,
  "content-range": /^bytes \d{1,15}-\d{1,15}\/\d{1,15}$/,
  "content-disposition":
    /^(?:inline|attachment); filename="[ !#-[\]-~]{1,1000}"(?:; filename\*=UTF-8''[\w%.!#$&+^`|~-]{1,4000})?$/,
} as const;

/** Sends the content of a tenant's file from the address of the dashboard, where none of it may run. */
export async function forwardFile(file: PodAnswer, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { body, status } = file;
  const [type = ""] = String(body.headers["content-type"] ?? "").split(";");
  const isShown = SHOWN.test(type);
  const headers = Object.fromEntries(
    Object.entries(HEADERS).flatMap(([name, form]) => {
      const value = body.headers[name];
      return typeof value === "string" && form.test(value) ? [[name, value]] : [];
    }),
  );
  const disposition = headers["content-disposition"] ?? 'attachment; filename="file"';
  reply.headers({
    ...headers,
    "content-type": isShown ? type : OTHER,
    "content-disposition": isShown ? disposition : disposition.replace(/^inline/, "attachment"),
    "content-security-policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "accept-ranges": "bytes",
    "cache-control": "private, no-cache",
  });
  if (headers.etag !== undefined && request.headers["if-none-match"] === headers.etag) {
    body.destroy();
    await reply.code(304).removeHeader("content-length").send();
    return;
  }
  await reply.code(status === 206 ? 206 : 200).send(body);
}
