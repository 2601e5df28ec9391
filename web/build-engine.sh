#!/bin/sh
# Builds the engine as WebAssembly into web/src/engine/pkg (crates/web, wasm-bindgen with target web). Needs either rustup's target
# wasm32-unknown-unknown, or Debian's packages rustc-web, cargo-web, rust-web-src and lld-19. wasm-opt is that of `npm ci` in web/.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
target=wasm32-unknown-unknown
out=web/src/engine/pkg
tools=target/tools

say() {
    echo "build-engine: $*" >&2
}

# The compiler: rustup's, or Debian's, which builds the standard library too. BLOATLAB_COMPILER=debian takes Debian's.
sysroot=$(rustc --print sysroot 2>/dev/null || true)
if [ "${BLOATLAB_COMPILER:-}" != debian ] && [ -n "$sysroot" ] && [ -d "$sysroot/lib/rustlib/$target/lib" ]; then
    build() {
        cargo build "$@"
    }
elif [ -x /usr/bin/cargo ] && [ -x /usr/bin/wasm-ld-19 ] && [ -d "$(/usr/bin/rustc --print sysroot 2>/dev/null)/lib/rustlib/src/rust/library" ]; then
    build() {
        RUSTC_BOOTSTRAP=1 RUSTC=/usr/bin/rustc CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=/usr/bin/wasm-ld-19 \
            /usr/bin/cargo build -Zbuild-std=std,panic_abort "$@"
    }
else
    say "the WebAssembly target is missing: rustup target add $target (without rustup on Debian: apt-get install rustc-web cargo-web rust-web-src lld-19)"
    exit 1
fi

# --check: only whether there is a compiler.
[ "${1:-}" != --check ] || exit 0

# The tool that writes the JavaScript must have the version of the crate.
version=$(sed -n '/^name = "wasm-bindgen"$/{n;s/^version = "\(.*\)"$/\1/p;}' Cargo.lock)
bindgen=$tools/bin/wasm-bindgen
if [ "$("$bindgen" --version 2>/dev/null)" != "wasm-bindgen $version" ]; then
    say "installing wasm-bindgen $version into $tools"
    # A registry that lags behind does not have all locked versions of the tool's own dependencies.
    cargo install --quiet wasm-bindgen-cli --version "=$version" --root "$tools" --locked ||
        cargo install --quiet wasm-bindgen-cli --version "=$version" --root "$tools"
fi

# Paths of the machine do not belong into the file.
RUSTFLAGS="${RUSTFLAGS:-} --remap-path-prefix=$root=. --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo" \
    build --quiet --locked --package bloatlab-web --target "$target" --profile web --target-dir target/web
"$bindgen" --target web --out-dir "$out" --out-name bloatlab_web --remove-name-section --remove-producers-section "target/web/$target/web/bloatlab_web.wasm"

# Old versions of wasm-opt write modules that no browser loads, so the version is npm's and the result is loaded once.
wasm=$out/bloatlab_web_bg.wasm
web/node_modules/.bin/wasm-opt -O3 --strip-debug --enable-bulk-memory --enable-mutable-globals --enable-nontrapping-float-to-int \
    --enable-reference-types --enable-sign-ext --enable-multivalue "$wasm" -o "$wasm.small"
mv "$wasm.small" "$wasm"
node web/check-engine.mjs
say "$wasm: $(wc -c <"$wasm") bytes, $(gzip -9 -c "$wasm" | wc -c) gzipped"
