#!/bin/sh
# Builds the engine as WebAssembly into web/src/engine/pkg (crates/web, wasm-bindgen with target web). Needs either rustup's target
# wasm32-unknown-unknown, or Debian's packages rustc-web, cargo-web, rust-web-src and lld-19. wasm-opt (package binaryen) makes it smaller.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
target=wasm32-unknown-unknown
out=web/src/engine/pkg
tools=target/tools
features=

say() {
    echo "build-engine: $*" >&2
}

# The compiler: rustup's, or Debian's, which builds the standard library too.
sysroot=$(rustc --print sysroot 2>/dev/null || true)
if [ -n "$sysroot" ] && [ -d "$sysroot/lib/rustlib/$target/lib" ]; then
    build() {
        cargo build "$@"
    }
elif [ -x /usr/bin/cargo ] && [ -x /usr/bin/wasm-ld-19 ] && [ -d "$(/usr/bin/rustc --print sysroot 2>/dev/null)/lib/rustlib/src/rust/library" ]; then
    build() {
        RUSTC_BOOTSTRAP=1 RUSTC=/usr/bin/rustc CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=/usr/bin/wasm-ld-19 \
            /usr/bin/cargo build -Zbuild-std=std,panic_abort "$@"
    }
    # Debian's wasm-opt (108) exports the wrong table of a module with reference types.
    features="-C target-feature=-reference-types,-multivalue"
else
    say "the WebAssembly target is missing: rustup target add $target (without rustup on Debian: apt-get install rustc-web cargo-web rust-web-src lld-19 binaryen)"
    exit 1
fi

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
RUSTFLAGS="${RUSTFLAGS:-} $features --remap-path-prefix=$root=. --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo" \
    build --quiet --locked --package bloatlab-web --target "$target" --profile web --target-dir target/web
"$bindgen" --target web --out-dir "$out" --out-name bloatlab_web --remove-name-section --remove-producers-section "target/web/$target/web/bloatlab_web.wasm"

wasm=$out/bloatlab_web_bg.wasm
# Version 108 of wasm-opt (Debian 12) exports the wrong table, and the module then does not start.
opt=$(wasm-opt --version 2>/dev/null | sed -n 's/^wasm-opt version \([0-9]*\).*/\1/p')
if [ "${opt:-0}" -ge 116 ]; then
    wasm-opt -O3 --strip-debug \
        --enable-bulk-memory --enable-mutable-globals --enable-nontrapping-float-to-int --enable-reference-types --enable-sign-ext \
        --enable-multivalue "$wasm" -o "$wasm.small"
    mv "$wasm.small" "$wasm"
else
    say "without wasm-opt 116 or newer the file is larger"
fi
say "$wasm: $(wc -c <"$wasm") bytes, $(gzip -9 -c "$wasm" | wc -c) gzipped"
