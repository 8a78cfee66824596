"""The library on a target: tables of a local or hosted database, for notebooks, tests and scripts."""
