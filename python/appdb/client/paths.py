"""Paths of tables and folders: `main/docs`, `main.reports.docs`, `cloud://acme:main/docs`."""

import re

from appdb.declare.errors import VERSIONS, Error, no_versions

SCHEME = "cloud://"
_NAME = re.compile(r"[a-z][a-z0-9_-]*")
_ORGANIZATION = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_MAX_LENGTH = 63


class Target:
    """A database: `organization` is None for one of this machine."""

    __slots__ = ("organization", "database")

    def __init__(self, organization, database):
        self.organization = organization
        self.database = database

    @property
    def text(self):
        """`main`, `cloud://acme:main`."""
        return self.database if self.organization is None else f"{SCHEME}{self.organization}:{self.database}"

    def path(self, inside):
        """The whole path of a table or folder inside it."""
        return f"{self.text}/{inside}" if inside else self.text

    def __eq__(self, other):
        return isinstance(other, Target) and other.text == self.text

    def __hash__(self):
        return hash(self.text)


def table_path(text):
    """Parses the path of a table: (Target, path within the database). Raises Error."""
    target, parts = _parsed(text, "table", "docs")
    if not parts:
        raise _invalid(text, "it names a database and no table", f"Write {_example(target, 'docs')}")
    return target, "/".join(parts)


def folder_path(text):
    """Parses the path of a database or of a folder in it: (Target, path within the database or ''). Raises Error."""
    target, parts = _parsed(text, "folder", "reports")
    return target, "/".join(parts)


def refuse_version(text):
    """Raises the error of a path with the number of a version, `main/docs:3`; does nothing for others."""
    tail = str(text).rpartition(":")[2] if ":" in str(text) else ""
    if tail.isdecimal():
        raise no_versions(f"{text!r}", f"version {tail} of a table")


def _parsed(text, what, example):
    if not isinstance(text, str):
        raise _invalid(repr(text)[:80], f"the path of a {what} is text", f'Write "main/{example}"')
    hosted = text.lower().startswith(SCHEME)
    rest = text[len(SCHEME) :] if hosted else text
    if not hosted and "://" in rest:
        raise _invalid(text, "a hosted database begins with cloud://", f"Write cloud://acme:main/{example}")
    refuse_version(text)
    if not hosted and ":" in rest:
        organization, _, database = rest.partition(":")
        named = f"cloud://{organization or 'acme'}:{database or 'main'}"
        raise _invalid(text, "a hosted database begins with cloud://", f"Write {named}")
    organization = None
    if hosted:
        organization, colon, rest = rest.partition(":")
        if not colon or not _ORGANIZATION.fullmatch(organization.lower()):
            raise _invalid(text, "expected an organization, a colon and a database", f"Write cloud://acme:main/{example}")
        organization = organization.lower()
    elif "." in rest and "/" not in rest:
        rest = rest.replace(".", "/")
    database, *parts = [part.lower() for part in rest.split("/")]
    if "." in rest:
        part = next(part for part in rest.split("/") if "." in part)
        slashed = "/".join(part for part in text.replace(".", "/").split("/") if part)
        raise _invalid(text, f"'{part}' contains a dot", f"Write {slashed if not hosted else f'{SCHEME}acme:main/{example}'}")
    target = Target(organization, database)
    if not parts and what == "table" and not hosted and _is_name(database):
        named = f"{database}/docs" if database == "main" else f"main/{database}, or {database}/docs if it is the database"
        raise _invalid(text, "it names no database and table", f"Write {named}")
    for part in (database, *parts):
        if not _is_name(part):
            shown = f"'{part[:80]}' is not a name" if part else "a part of it is empty"
            hint = "A name begins with a letter, and has letters, digits, '_' and '-', at most 63"
            raise _invalid(text, shown, f"{hint}: {_example(None, example)}")
    return target, parts


def _is_name(part):
    return _NAME.fullmatch(part) is not None and len(part) <= _MAX_LENGTH


def _example(target, name):
    return f"{'main' if target is None else target.text}/{name}"


def _invalid(text, problem, hint):
    return Error(f"'{str(text)[:200]}' is not a valid path: {problem}.", f"{hint}.", "invalid_target")


def refuse_versions(name, what):
    """Raises the error of a name of past versions; does nothing for other names."""
    if name in VERSIONS:
        raise no_versions(f"{what}.{name}", VERSIONS[name])
