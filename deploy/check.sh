#!/usr/bin/env bash
# Checks what lies in this folder as far as the machine can: the scripts with shellcheck, the units with systemd-analyze.
set -euo pipefail
cd "$(dirname "$0")"

WORST=15 # ten times the exposure that `systemd-analyze security` may find; 100 is a unit without any protection

if command -v shellcheck >/dev/null; then
    shellcheck ./*.sh mneme with_dots link_program
    echo "shellcheck: nothing to complain about"
else
    echo "shellcheck is not installed (apt-get install shellcheck): the scripts were not checked"
fi

if ! command -v systemd-analyze >/dev/null; then
    echo "systemd-analyze is not installed (apt-get install systemd): the units were not checked"
    exit 0
fi

units=$(mktemp -d)
trap 'rm -rf "$units"' EXIT
for unit in *.service *.timer; do
    # the program is not installed where this runs, and the units would be blamed for that
    sed 's#/opt/mneme/current/bin/mneme#/bin/true#' "$unit" >"$units/$unit"
done
cd "$units"
# a key that systemd does not know is only a line on standard error
complaints=$(systemd-analyze verify --man=no ./*.service ./*.timer 2>&1) || true
if [ -n "$complaints" ]; then
    printf '%s\n' "$complaints" >&2
    exit 1
fi
echo "systemd-analyze verify: nothing to complain about ($(systemctl --version | head -n 1))"
for unit in *.service; do
    rating=$(systemd-analyze security --offline=true --threshold="$WORST" "./$unit" | tail -n 1) || {
        printf '%s: %s\n' "$unit" "$rating" >&2
        exit 1
    }
    printf '%s: %s\n' "$unit" "$rating"
done
