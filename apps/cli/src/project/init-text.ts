/** Text that `cli init` writes. */
export const SERVICE_TOML = `# The root of this project, and what its databases are made of.

# The database on this machine; it has no name.
[[service.database]]
# exclude = ["notebooks/"]          # files that are not part of the application
# python_version = "3.12"           # the Python that runs your functions
# workers = 2                       # processes of it in each service

# A hosted database, when you have one. Put your organization in and remove the # signs.
# [[service.database]]
# name = "cloud://<your-org>:main"
# python_version = "3.12"
# system_packages = ["ffmpeg"]
# cpu = 1
# memory_mb = 1024
# disk_gb = 10
# media_gb = 100                    # its files, where the server has a bucket for them
# workers = 1
`;

const PYPROJECT_ENTRY = `# The root of this project for appdb. The entry without a name is the database on this machine.
[[tool.service.database]]
`;

/** Appends our entry to a pyproject.toml and keeps all existing bytes. */
export function extendPyproject(text: string): string {
  const newline = text.includes("\r\n") ? "\r\n" : "\n";
  return text + blankLinesAfter(text, newline) + PYPROJECT_ENTRY.replaceAll("\n", newline);
}

/** Text between existing content and an appended table: an empty line, or nothing for an empty file. */
export function blankLinesAfter(text: string, newline: string): string {
  if (text === "") return "";
  return text.endsWith("\n") ? newline : newline + newline;
}
