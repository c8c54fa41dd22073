#!/usr/bin/env bash
# Everything that more than one core shows: a calibration, the plans with several workers, and the
# read designs over sockets in memory.
#
#   benches/many-cores.sh [OUT] [FORM]
#
# OUT is a new folder (results-many-cores), FORM is --quick, --full (the default) or --long. The
# machine should do nothing else. A plan measures a point where there is a core for each worker and
# one for the load, and simulates it elsewhere. `ours/two-workers` runs load and workers on the same
# two cores, and is left out where there are more. A step that fails is named in the end.
set -u

out=${1:-results-many-cores}
form=${2:---full}
case $form in
--quick) rounds=2 ;;
--full) rounds=12 ;;
--long) rounds=48 ;;
*)
    echo "many-cores.sh: $form is no form; known are --quick, --full and --long" >&2
    exit 2
    ;;
esac
if [ -e "$out" ]; then
    echo "many-cores.sh: $out is there already; name a new folder" >&2
    exit 2
fi
cd "$(dirname "$0")/.." || exit 1
aldis=${ALDIS:-target/release/aldis}
if [ ! -x "$aldis" ]; then
    echo "many-cores.sh: no $aldis; build it (cargo build --release), or name it in ALDIS" >&2
    exit 2
fi
mkdir -p "$out" || exit 1

plans=(
    maestro/table-1 maestro/table-2
    maestro/figure-7 maestro/figure-8 maestro/figure-9 maestro/figure-10 maestro/figure-11
    maestro/figure-12 maestro/figure-13 maestro/figure-14 maestro/figure-15 maestro/figure-16
    maestro-scalable/figure-6 maestro-scalable/figure-7 maestro-scalable/figure-8
    maestro-scalable/figure-9 maestro-scalable/figure-10 maestro-scalable/figure-11
    maestro-scalable/figure-12
    beacon/figure-4b ours/presets
)
cores=$(nproc)
if [ "$cores" -eq 2 ]; then plans+=(ours/two-workers); fi

failed=()
step() {
    local name=$1
    shift
    echo "== $name: $*"
    "$@" || failed+=("$name (exit code $?)")
}

{
    echo "cores = $cores"
    date -u '+date = "%Y-%m-%d"'
    uname -sr | sed 's/.*/kernel = "&"/'
    grep -m1 'model name' /proc/cpuinfo | sed 's/.*: /cpu = "/; s/$/"/'
} >"$out/machine.toml"

calibrate=("$aldis" lab calibrate --out "$out/costs.toml")
if [ "$form" = --quick ]; then calibrate+=(--seconds 20); fi
step calibrate "${calibrate[@]}"
for plan in "${plans[@]}"; do
    step "$plan" "$aldis" lab run "$plan" "$form" --costs "$out/costs.toml" --out "$out/results"
done
step report "$aldis" lab report "$out/results" --out "$out/report.html"
# The simulator against real workers, one a core.
"$aldis" lab check-simulator --rounds "$rounds" | tee "$out/check-simulator.txt"
if [ "${PIPESTATUS[0]}" -ne 0 ]; then failed+=("check-simulator"); fi
# Every number of workers that the machine has, over sockets in memory.
cargo bench -q --profile "${PROFILE:-bench}" -p aldis-engine --bench scaling -- "$rounds" | tee "$out/in-memory.txt"
if [ "${PIPESTATUS[0]}" -ne 0 ]; then failed+=("in-memory"); fi

if [ ${#failed[@]} -gt 0 ]; then
    printf 'many-cores.sh: failed: %s\n' "${failed[@]}" >&2
    exit 1
fi
echo "Written to $out: report.html, results/, costs.toml, check-simulator.txt, in-memory.txt, machine.toml."
