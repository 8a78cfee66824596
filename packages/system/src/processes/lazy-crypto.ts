/** node:crypto, loaded when it is first needed: an import would cost every command 5 ms of its start, and few need it. */
export function lazyCrypto(): typeof import("node:crypto") {
  return process.getBuiltinModule("node:crypto");
}
