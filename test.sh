#!/usr/bin/env bash
# Runs all tests, documentation examples included. Needs a Rust toolchain; tests of the viewer's page also need Node.js, npm and Chromium, the guard
# against slow-downs valgrind. These are installed if they are missing and this is Debian (or a relative of it) with the rights to do so. Tests of the
# side-by-side comparison need Python with NumPy and SciPy, which go into bench/peers/.cache. LINKWORK_INSTALL=0 installs nothing. With
# LINKWORK_REQUIRE_BROWSER=1, LINKWORK_REQUIRE_VALGRIND=1 and LINKWORK_REQUIRE_NUMPY=1, as in .ci/run, tests fail where they would otherwise say that
# they are skipped.
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

# wanted WHAT_FOR PACKAGE...: installs packages, or says which tests are skipped without them
wanted() {
    local what=$1 said
    shift
    [ $# -gt 0 ] && [ "${LINKWORK_INSTALL:-1}" != 0 ] || return 0
    if has apt-get && [ "$(id -u)" = 0 ]; then
        echo "test.sh: installing $* for $what" >&2
        said=$(mktemp)
        if ! { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"; } >"$said" 2>&1; then
            tail -n 5 "$said" >&2
            echo "test.sh: $* could not be installed; $what: skipped" >&2
        fi
        rm -f "$said"
    else
        echo "test.sh: $* not found; $what: skipped. Install what is missing to run these, too." >&2
    fi
}

page=()
has chromium || has chromium-browser || has google-chrome || page+=(chromium)
has node || page+=(nodejs)
has npm || page+=(npm)
wanted "tests of the viewer's page" "${page[@]}"
has valgrind || wanted "the guard against slow-downs" valgrind

# the scripts of the side-by-side comparison, in the Python environment of bench/peers/run; without arguments only, which name tests in Rust
if [ $# = 0 ]; then
    python=bench/peers/.cache/venv/bin/python
    if [ "${LINKWORK_INSTALL:-1}" != 0 ] && has python3 && ! "$python" -c 'import numpy, scipy' 2>/dev/null; then
        python3 bench/peers/install.py || echo "test.sh: tests of accuracy figures: skipped" >&2
    fi
    has "$python" || python=python3
    if has "$python"; then
        "$python" -m unittest discover -s bench/peers -p 'test_*.py'
    elif [ "${LINKWORK_REQUIRE_NUMPY:-0}" = 1 ]; then
        echo "test.sh: python3 not found; tests of bench/peers need it. Install Python 3 with venv, then run this again." >&2
        exit 1
    fi
fi

# optimised: the physics tests simulate minutes of motion
exec cargo test --profile checked --workspace "$@"
