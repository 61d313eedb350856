#!/usr/bin/env bash
# Runs all tests, documentation examples included. Needs a Rust toolchain; tests of the viewer's page also need Node.js and Chromium, and say so.
set -euo pipefail
cd "$(dirname "$0")"

# rustup installs into the home directory, which a fresh shell may not have on its path yet
if ! command -v cargo >/dev/null && [ -x "${CARGO_HOME:-$HOME/.cargo}/bin/cargo" ]; then
    PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
fi
if ! command -v cargo >/dev/null; then
    echo "test.sh: cargo not found. Install a Rust toolchain (rustup), then run this again." >&2
    exit 2
fi

# The viewer's page is tested in a browser where there is one; otherwise that test says that it is skipped.
if [ -n "${LINKWORK_INSTALL_BROWSER:-}" ] && ! command -v chromium >/dev/null && command -v apt-get >/dev/null; then
    (apt-get update -qq && apt-get install -y -qq chromium) >/dev/null 2>&1 || echo "test.sh: chromium could not be installed" >&2
fi

# optimised: the physics tests simulate minutes of motion
exec cargo test --profile checked --workspace "$@"
