import { request } from "node:http";
import type { Fetched, FetchLike } from "@appdb/contract/clients/client";
import { headersOf } from "@appdb/system/network/headers-of";
import { writeBody } from "@appdb/system/network/write-body";

/** `fetch` over node:http, for bodies that are sent as they come. */
export const streamFetch: FetchLike<Fetched, AsyncIterable<Uint8Array>> = (
  url,
  { method, headers, body = [], signal },
) =>
  new Promise<Fetched>((resolve, reject) => {
    // There are only a few calls; a kept connection would delay the command's end.
    const sent = request(url, { method, headers, agent: false, ...(signal === undefined ? {} : { signal }) });
    sent.on("response", (response) =>
      resolve({
        status: response.statusCode ?? 0,
        body: response,
        headers: headersOf(response),
        text: async () => Buffer.concat(await response.toArray()).toString("utf8"),
      }),
    );
    sent.on("error", reject);
    writeBody(sent, body).catch((error: Error) => sent.destroy(error));
  });
