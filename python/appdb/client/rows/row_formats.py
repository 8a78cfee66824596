"""How files of rows are recognized. `npm run docs` writes this file from row-formats.ts of the command."""

#: The formats of the endings of files' names. Other files are recognized by their content.
ENDINGS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".json": "json",
    ".xls": "workbook",
    ".xlsm": "workbook",
    ".xlsx": "workbook",
}
#: The first bytes of files that are not text.
MARKS = {
    b"\x50\x41\x52\x31": "parquet",
    b"\x50\x4b\x03\x04": "workbook",
    b"\x1f\x8b": "gzip",
}
