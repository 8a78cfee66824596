import { renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { ROOT } from "./paths.mjs";

const CLI = "apps/cli/src";

/**
 * The files of the command, in the order in which they are loaded: a part belongs to the first file whose modules need it.
 * Node's time to load a file grows with its size, even if its code is cached. Frequent commands load the first two.
 */
const FILES = [
  { name: "cli-main", modules: [`${CLI}/main.ts`, `${CLI}/project/read-ahead.ts`] },
  {
    name: "cli-program",
    modules: [
      "run-program.ts",
      "app.ts",
      "daemon/ensure-daemon.ts",
      "control/create-control-access.ts",
      "commands/data/ls.ts",
      "commands/data/describe.ts",
      "commands/data/columns.ts",
      "commands/data/rows.ts",
      "commands/data/get.ts",
      "commands/data/count.ts",
      "commands/root/whoami.ts",
      "commands/schema/diff.ts",
      "commands/schema/local-schema.ts",
      "commands/schema/update.ts",
    ].map((file) => `${CLI}/${file}`),
  },
  { name: "cli-more", modules: [] },
];

/** Bundles the command into FILES. */
export async function bundleCommand(target, options) {
  await bundleIntoFiles(target, { root: ROOT, entry: `${CLI}/main.ts`, files: FILES, ...options });
}

/**
 * Bundles the program of `entry` into files, which `files` describes like FILES. esbuild divides it into modules that share
 * parts, and each part becomes a function in one of the files: one file for each part would take longer to load than all of
 * them. The first file starts the program.
 */
export async function bundleIntoFiles(target, { root, entry, files, banner, supported, ...options }) {
  const esbuild = await import("esbuild");
  const { metafile, outputFiles } = await esbuild.build({
    ...options,
    absWorkingDir: root,
    entryPoints: [entry],
    outdir: target,
    splitting: true,
    format: "esm",
    metafile: true,
    write: false,
  });
  const texts = new Map(outputFiles.map(({ path, text }) => [basename(path), text]));
  const places = placeParts(metafile, files);
  const names = new Map();
  for (const [at, parts] of places.entries()) {
    for (const [index, part] of parts.entries()) names.set(part, `./${files[at].name}.js#${index}`);
  }
  const { minifyIdentifiers, minifySyntax, minifyWhitespace, platform, target: oldest } = options;
  const form = {
    minifyIdentifiers,
    minifySyntax,
    minifyWhitespace,
    platform,
    target: oldest,
    supported,
    format: "cjs",
  };
  for (const [at, parts] of places.entries()) {
    const functions = [];
    for (const part of parts) {
      const { code } = await esbuild.transform(texts.get(part), form);
      // parentheses: V8 then compiles the function with the file, and caches it too
      functions.push(`(function(require,exports,module){${nameParts(code, names)}})`);
    }
    const list = `[${functions.join(",\n")}]`;
    const start = names.get(`${basename(entry, ".ts")}.js`);
    const text = at === 0 ? loaderOf(files[0].name, list, start) : `module.exports=${list};`;
    replaceFile(join(target, `${files[at].name}.js`), `${banner.js}\n${text}\n`);
  }
}

/** The program that loads each part once, at its first use. Other names are those of Node's modules and of other bundles. */
function loaderOf(name, parts, start) {
  return `const files={"./${name}.js":${parts}},loaded=new Map();
function load(name){
const known=loaded.get(name);
if(known!==undefined)return known.exports;
const at=name.indexOf("#");
if(at<0)return require(name);
const file=name.slice(0,at),module={exports:{}};
loaded.set(name,module);
(files[file]??=require(file))[name.slice(at+1)](load,module.exports,module);
return module.exports;
}
load(${JSON.stringify(start)});`;
}

/** The parts of each file. */
function placeParts({ outputs }, files) {
  const parts = new Map(Object.entries(outputs).map(([path, output]) => [basename(path), output]));
  const entries = new Map([...parts].map(([name, { entryPoint }]) => [entryPoint, name]));
  const placed = new Set();
  const collect = (name, into) => {
    if (placed.has(name) || !parts.has(name)) return;
    placed.add(name);
    for (const { kind, path } of parts.get(name).imports) {
      if (kind === "import-statement") collect(basename(path), into);
    }
    into.push(name);
  };
  return files.map(({ modules, name }, at) => {
    const into = [];
    for (const module of modules) {
      if (!entries.has(module)) throw new Error(`${name}.js: no import() loads ${module}.`);
      collect(entries.get(module), into);
    }
    if (at === files.length - 1) for (const part of parts.keys()) collect(part, into);
    return into;
  });
}

function nameParts(code, names) {
  return code.replace(/require\("\.\/([^"]+)"\)/g, (call, name) =>
    names.has(name) ? `require(${JSON.stringify(names.get(name))})` : call,
  );
}

/** A file is replaced when it is complete: a command that starts meanwhile reads the previous one. */
function replaceFile(file, text) {
  writeFileSync(`${file}.${process.pid}.new`, text);
  // made from the previous file
  rmSync(file.replace(/\.js$/, ".compiled"), { force: true });
  renameSync(`${file}.${process.pid}.new`, file);
}
