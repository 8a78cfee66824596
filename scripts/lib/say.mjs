/** One line for the person at the terminal, on stderr: stdout stays for what a script is asked for. */
export function say(line) {
  process.stderr.write(`${line}\n`);
}

/** Ends a script with what happened and one next step. */
export class Stop extends Error {
  constructor(detail, hint) {
    super(detail);
    this.hint = hint;
  }
}

/** Runs a script's main function; a Stop becomes two lines and exit status 1, anything else a stack trace. */
export async function main(work) {
  try {
    process.exitCode = (await work()) ?? 0;
  } catch (error) {
    if (!(error instanceof Stop)) throw error;
    say(`error: ${error.message}`);
    if (error.hint !== undefined) say(`hint: ${error.hint}`);
    process.exitCode = 1;
  }
}
