#!/usr/bin/env bash
# The bots of one machine, each a cell: its own process, memory, settings, limits, and version of the program.
#   sudo deploy/cells.sh create NAME [--env FILE] [--memory 300M] [--cpu 50%]
#   sudo deploy/cells.sh list [--prometheus]     with --prometheus the targets of a scrape, labelled by name
#   sudo deploy/cells.sh upgrade NAME...|--all [--to RELEASE]     without --to this checkout, built first
#   sudo deploy/cells.sh backup|start|stop NAME...|--all
#   sudo deploy/cells.sh remove NAME [--purge]   what it remembers stays, but for --purge
#
#   /opt/mneme/cells/NAME       the version that it runs, a link into /opt/mneme/releases
#   mneme@NAME                  its unit, with the limits in a drop-in; all else is as deploy/install.sh --bot NAME has it
# A first `deploy/install.sh` made the user, the units and the first release. docs/scale.md says what a cell takes.
set -euo pipefail
umask 022

PREFIX=${MNEME_PREFIX:-} # tests have a machine of their own below a folder
ROOT=$PREFIX/opt/mneme
ETC=$PREFIX/etc/mneme
UNITS=$PREFIX/etc/systemd/system
STATE=$PREFIX/var/lib
FIRST_PORT=9464

checkout=$(dirname "$(dirname "$(realpath "$0")")")

say() { printf '%s\n' "$*"; }
die() {
    printf 'cells.sh: %s\n' "$*" >&2
    exit 1
}

# the comment at the top of this file
show_help() {
    sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p;}' "$0"
    exit 0
}

unit_of() { echo "mneme@$1.service"; }
timer_of() { echo "mneme-backup@$1.timer"; }
data_of() { echo "$STATE/mneme-$1"; }
backups_of() { echo "$STATE/mneme-backups/$1"; }
release_of() { readlink -f "$ROOT/cells/$1"; }
is_cell() { [ -L "$ROOT/cells/$1" ]; }
cells() { find "$ROOT/cells" -mindepth 1 -maxdepth 1 -type l -printf '%f\n' 2>/dev/null | sort; }
port_of() { sed -n 's/^METRICS_PORT=//p' "$ETC/$1.env" | tail -n 1; }
is_active() { systemctl is-active --quiet "$(unit_of "$1")"; }
own() { [ -n "$PREFIX" ] || chown mneme:mneme "$@"; }

# the command line of a release, as a cell: as_cell RELEASE NAME COMMAND...
as_cell() {
    local of=$1 named=$2
    shift 2
    if [ -n "$PREFIX" ]; then
        MNEME_DATA_DIR=$(data_of "$named") MNEME_ENV_FILE=$ETC/$named.env "$of/bin/mneme" "$@"
    else
        MNEME_RELEASE=$of sh "$checkout/deploy/mneme" "@$named" "$@"
    fi
}

link() {
    ln -sfn "$2" "$ROOT/cells/.$1"
    mv -T "$ROOT/cells/.$1" "$ROOT/cells/$1"
}

# one after the former highest: two cells never share one
next_port() {
    find "$ETC" -name '*.env' -exec cat {} + |
        awk -F= -v highest=$((FIRST_PORT - 1)) '$1 == "METRICS_PORT" && $2 > highest { highest = $2 } END { print highest + 1 }'
}

create() {
    local named=$1 env_file=$checkout/.env.example memory=300M cpu=50%
    shift
    while [ $# -gt 1 ]; do
        case "$1" in
        --env) env_file=$2 ;;
        --memory) memory=$2 ;;
        --cpu) cpu=$2 ;;
        *) die "$1 is not known: see deploy/cells.sh --help." ;;
        esac
        shift 2
    done
    [ $# -eq 0 ] || die "$1 needs a value after it."
    [[ "$named" =~ ^[a-z][a-z0-9-]{0,30}$ && "$named" != mneme ]] ||
        die "A cell's name is made of small letters, digits and dashes: $named is not."
    [[ "$memory" =~ ^[0-9]+[KMGT]?$ ]] || die "--memory is a number of bytes such as 300M: $memory is not."
    [[ "$cpu" =~ ^[0-9]+%$ ]] || die "--cpu is a part of one processor such as 50%: $cpu is not."
    [ ! -e "$ETC/$named.env" ] || die "There is a bot $named already: $ETC/$named.env has its settings."
    [ -x "$ROOT/current/bin/mneme" ] || die "Nothing is installed yet: run deploy/install.sh first."
    [ -r "$env_file" ] || die "$env_file can't be read: name the file with the settings."
    install -d "$ROOT/cells" "$UNITS/$(unit_of "$named").d"
    install -d -m 700 "$(data_of "$named")" "$STATE/mneme-backups" "$(backups_of "$named")"
    local port
    port=$(next_port)
    install -m 600 /dev/null "$ETC/$named.env"
    grep -v '^METRICS_PORT=' "$env_file" >>"$ETC/$named.env" || true
    printf '\nMETRICS_PORT=%s\n' "$port" >>"$ETC/$named.env"
    own "$ETC/$named.env" "$(data_of "$named")" "$STATE/mneme-backups" "$(backups_of "$named")"
    link "$named" "$(readlink -f "$ROOT/current")"
    cat >"$UNITS/$(unit_of "$named").d/cell.conf" <<END
[Service]
ExecStart=
ExecStart=$ROOT/cells/$named/bin/mneme run
MemoryMax=$memory
MemorySwapMax=0
CPUQuota=$cpu
# after a reboot all cells start at once
TimeoutStartSec=10min
END
    systemctl daemon-reload
    systemctl enable --quiet --now "$(timer_of "$named")"
    systemctl enable --quiet "$(unit_of "$named")"
    if grep -Eq '^[[:space:]]*TELEGRAM_BOT_TOKEN=[^[:space:]]' "$ETC/$named.env"; then
        start "$named"
    else
        say "$named is there. Now: sudo mneme @$named setup && sudo deploy/cells.sh start $named"
    fi
}

start() { systemctl start "$(unit_of "$1")" || die "$1 does not start: see \`journalctl -u $(unit_of "$1")\`."; }
stop() { systemctl stop "$(unit_of "$1")"; }
backup() { as_cell "$(release_of "$1")" "$1" backup --rotate 14 "$(backups_of "$1")/nightly"; }

list() {
    local named first=yes
    if [ "${1:-}" = --prometheus ]; then
        printf '['
        for named in $(cells); do
            [ -n "$first" ] || printf ','
            first=
            printf '\n  {"targets": ["127.0.0.1:%s"], "labels": {"bot": "%s"}}' "$(port_of "$named")" "$named"
        done
        printf '\n]\n'
        return
    fi
    for named in $(cells); do
        printf '%-20s %-10s %-18s port %-6s %s\n' "$named" "$(systemctl is-active "$(unit_of "$named")" || true)" \
            "$(basename "$(release_of "$named")")" "$(port_of "$named")" \
            "$(du -sh "$(data_of "$named")" | cut -f1)"
    done
}

# upgrade_one RELEASE NAME: one cell alone; where it fails the former version runs again with what it knew
upgrade_one() {
    local to=$1 named=$2 former was_active=yes saved=
    former=$(release_of "$named")
    [ "$former" != "$to" ] || return 0
    is_active "$named" || was_active=
    [ -z "$was_active" ] || stop "$named"
    if [ -e "$(data_of "$named")/mneme.db" ]; then
        if ! as_cell "$former" "$named" backup --rotate 5 "$(backups_of "$named")/upgrades"; then
            say "$named: there is no upgrade without a backup, and that failed." >&2
            [ -z "$was_active" ] || systemctl start "$(unit_of "$named")" || true
            return 1
        fi
        saved=$(find "$(backups_of "$named")/upgrades" -name 'mneme-*.zip' | sort | tail -n 1)
    fi
    if { [ -z "$saved" ] || as_cell "$to" "$named" migrate; } && link "$named" "$to" &&
        { [ -z "$was_active" ] || systemctl start "$(unit_of "$named")"; }; then
        say "$named runs $(basename "$to")."
        return 0
    fi
    say "$named: going back to the former version ..." >&2
    systemctl stop "$(unit_of "$named")" || true
    link "$named" "$former"
    # the former version can't read what a newer one has migrated
    [ -z "$saved" ] || as_cell "$former" "$named" migrate >/dev/null 2>&1 ||
        as_cell "$former" "$named" restore --yes "$saved" >&2 || true
    [ -z "$was_active" ] || systemctl start "$(unit_of "$named")" || say "$named does not start." >&2
    return 1
}

upgrade() {
    local to=$1 named failed=
    shift
    [ -x "$to/bin/mneme" ] || die "$to is no release: $to/bin/mneme is missing."
    for named in "$@"; do
        upgrade_one "$to" "$named" || failed="$failed $named"
    done
    [ -z "$failed" ] || die "These could not be upgraded and run the former version:$failed"
}

remove() {
    local named=$1
    systemctl disable --quiet --now "$(unit_of "$named")" "$(timer_of "$named")" || true
    rm -rf "$UNITS/$(unit_of "$named").d"
    rm -f "$ROOT/cells/$named"
    systemctl daemon-reload
    if [ "${2:-}" = --purge ]; then
        rm -rf "$(data_of "$named")" "$(backups_of "$named")" "$ETC/$named.env"
        say "$named is gone, with everything it knew."
    else
        say "$named is removed. $(data_of "$named"), $(backups_of "$named") and $ETC/$named.env are still there."
    fi
}

# -- what is asked for -------------------------------------------------------------------------------------------

case "${1:-}" in -h | --help | help) show_help ;; esac
[ -n "$PREFIX" ] || [ "$(id -u)" -eq 0 ] || die "Only root can look after the bots of a machine: use sudo."
command=${1:-}
shift || true
case "$command" in
create)
    [ $# -ge 1 ] || die "create needs a name."
    create "$@"
    ;;
list) list "$@" ;;
remove)
    if [ $# -lt 1 ] || ! is_cell "$1"; then die "remove needs the name of a cell: see \`deploy/cells.sh list\`."; fi
    remove "$@"
    ;;
upgrade | backup | start | stop)
    to=
    named=()
    while [ $# -gt 0 ]; do
        case "$1" in
        --all) mapfile -t named < <(cells) ;;
        --to)
            if [ "$command" != upgrade ] || [ $# -lt 2 ]; then die "--to belongs to upgrade, with a release after it."; fi
            to=$(realpath "$2")
            shift
            ;;
        *)
            is_cell "$1" || die "There is no cell $1: see \`deploy/cells.sh list\`."
            named+=("$1")
            ;;
        esac
        shift
    done
    [ "${#named[@]}" -gt 0 ] || die "$command needs names, or --all."
    if [ "$command" = upgrade ]; then
        [ -n "$to" ] || to=$("$checkout/deploy/install.sh" --build)
        upgrade "$to" "${named[@]}"
    else
        for one in "${named[@]}"; do "$command" "$one"; done
    fi
    ;;
*) die "$command is not known: see deploy/cells.sh --help." ;;
esac
