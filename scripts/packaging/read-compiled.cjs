// The compiled code that the build stores next to a bundle: `<bundle>.compiled`. V8 binds such code to its source by the source's
// length alone, and runs damaged code. The file therefore begins with a SHA-256 of both.
const { readFileSync } = require("node:fs");

const DIGEST_BYTES = 32;

/** The text of a bundle and its compiled code. Undefined if there is none, or if it is damaged or of another bundle. */
exports.readCompiled = (file) => {
  const stored = readIfExists(compiledFile(file));
  if (stored === undefined) return undefined;
  const source = readFileSync(file);
  const code = stored.subarray(DIGEST_BYTES);
  if (!digest(source, code).equals(stored.subarray(0, DIGEST_BYTES))) return undefined;
  // bundles are ASCII
  return { text: source.toString("latin1"), cachedData: code };
};

/** The contents of the file with the compiled code of a bundle. */
exports.sealCompiled = (source, code) => Buffer.concat([digest(source, code), code]);

exports.compiledFile = compiledFile;

function compiledFile(file) {
  return file.replace(/\.js$/, ".compiled");
}

function digest(source, code) {
  // loaded here: a wheel has no compiled code, and loading it takes 5 ms
  const { createHash } = require("node:crypto");
  return createHash("sha256").update(String(source.length)).update("\n").update(source).update(code).digest();
}

function readIfExists(file) {
  try {
    return readFileSync(file);
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw error;
  }
}
