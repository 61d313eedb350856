#!/usr/bin/env bash
# Runs all tests, documentation examples included. Needs a Rust toolchain; tests of the viewer's page also need Node.js, npm and Chromium, which
# are installed if they are missing and this is Debian (or a relative of it) with the rights to do so. LINKWORK_INSTALL_BROWSER=0 installs nothing.
# With LINKWORK_REQUIRE_BROWSER=1, as in .ci/run, tests of the page fail where they would otherwise say that they are skipped.
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

has() { command -v "$1" >/dev/null; }
missing=()
has chromium || has chromium-browser || has google-chrome || missing+=(chromium)
has node || missing+=(nodejs)
has npm || missing+=(npm)
if [ ${#missing[@]} -gt 0 ] && [ "${LINKWORK_INSTALL_BROWSER:-1}" != 0 ]; then
    if has apt-get && [ "$(id -u)" = 0 ]; then
        echo "test.sh: installing ${missing[*]} for the tests of the viewer's page" >&2
        said=$(mktemp)
        if ! { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"; } >"$said" 2>&1; then
            tail -n 5 "$said" >&2
            echo "test.sh: ${missing[*]} could not be installed; tests of the viewer's page are skipped" >&2
        fi
        rm -f "$said"
    else
        echo "test.sh: ${missing[*]} not found; tests of the viewer's page are skipped. Install them to run these, too." >&2
    fi
fi

# optimised: the physics tests simulate minutes of motion
exec cargo test --profile checked --workspace "$@"
