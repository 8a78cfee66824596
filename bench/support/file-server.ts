// The limit of file responses: a bare Node server that streams one file. Sends its port once.
import { createReadStream, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const path = process.argv[2] ?? "";
const { size } = statSync(path);
const server = createServer((_request, response) => {
  response.writeHead(200, { "content-type": "video/mp4", "content-length": size });
  createReadStream(path).pipe(response);
});
server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on("disconnect", () => process.exit(0));
