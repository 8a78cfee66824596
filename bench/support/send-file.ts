// Sends one file as a request body and reports the time until the end of its answer.
import { createReadStream } from "node:fs";
import { request } from "node:http";

process.once("message", ({ url, file, prefer }: { url: string; file: string; prefer: string }) => {
  const headers = { "content-type": "application/x-ndjson", ...(prefer === "" ? {} : { prefer }) };
  const began = performance.now();
  const sending = request(url, { method: "POST", headers }, (answer) => {
    let text = "";
    answer.on("data", (piece: Buffer) => {
      if (text.length < 1_000) text += piece.toString("utf8");
    });
    answer.on("end", () => process.send?.({ status: answer.statusCode, ms: performance.now() - began, text }));
  });
  createReadStream(file, { highWaterMark: 262_144 }).pipe(sending);
});
