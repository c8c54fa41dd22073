# Thin on purpose: what these do is in `cargo xtask`, so that it is code that can be read and tested.

# What is built lies in target/, where the tests look for it, also for those who build elsewhere:
# .cargo/config.toml says so, and the environment would be asked first.
unexport CARGO_TARGET_DIR CARGO_BUILD_TARGET_DIR

.PHONY: book run test e2e fuzz package tidy

# Build the controller and start it with its defaults; ARGS adds to them: make run ARGS="--log debug"
run:
	cargo build --release --locked
	exec target/release/aldis run $(ARGS)

# Everything that CI checks. Installs missing test peers (Open vSwitch, Mininet, tshark) when it is root.
test:
	cargo xtask test

# One part of it: make e2e ARGS="pingall"
e2e:
	cargo xtask e2e $(ARGS)

# The fuzz targets, for a minute or longer: make fuzz ARGS=3600
fuzz:
	cargo xtask fuzz $(ARGS)

# The package for Debian and Ubuntu, in target/package, or what ARGS names: arm64, static, container.
package:
	cargo xtask package $(ARGS)

# The documentation as a book, in target/book/html.
book:
	cargo xtask make-book

tidy:
	cargo xtask tidy
