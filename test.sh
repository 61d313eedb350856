#!/usr/bin/env bash
# Runs all tests, documentation examples included. Needs a Rust toolchain and nothing else.
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

# optimised: the physics tests simulate minutes of motion
exec cargo test --release --workspace "$@"
