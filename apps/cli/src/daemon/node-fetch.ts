import { request } from "node:http";
import type { Fetched, FetchLike } from "@appdb/contract/clients/client";

/** `fetch` over node:http. The global one costs a command 25 ms of its start, this one 10. */
export const nodeFetch: FetchLike = (url, init) =>
  new Promise<Fetched>((resolve, reject) => {
    const { method, headers, body, signal } = init;
    const sent = request(url, {
      method,
      headers: body === undefined ? headers : { ...headers, "content-length": String(Buffer.byteLength(body)) },
      // One call, or a few: a kept connection would only keep the command from ending.
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
