import { request } from "node:http";
import type { Fetched, FetchLike } from "@appdb/contract/clients/client";

/** `fetch` over node:http. The global one adds 25 ms to a command's start, this one 10 ms. */
export const nodeFetch: FetchLike = (url, init) =>
  new Promise<Fetched>((resolve, reject) => {
    const { method, headers, body, signal } = init;
    const sent = request(url, {
      method,
      headers: body === undefined ? headers : { ...headers, "content-length": String(Buffer.byteLength(body)) },
      // There are only a few calls; a kept connection would delay the command's end.
      agent: false,
      ...(signal === undefined ? {} : { signal }),
    });
    sent.on("response", (response) =>
      resolve({
        status: response.statusCode ?? 0,
        body: response,
        text: async () => Buffer.concat(await response.toArray()).toString("utf8"),
      }),
    );
    sent.on("error", reject);
    sent.end(body);
  });
