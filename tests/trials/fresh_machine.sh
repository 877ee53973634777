#!/usr/bin/env bash
# The README's lines on a fresh machine: a bare Debian 12 made by debootstrap, to a real answer through a pipe; then
# the same without libgomp1, to the sentence that says so and nothing fetched. Prints minutes and megabytes.
#
# usage: tests/trials/fresh_machine.sh [FOLDER]     (where the logs stay; default: a temporary one, removed at the end)
#
# Needs root, debootstrap, a Debian mirror and about 3 GB. Where packages come from is this machine's own
# configuration (apt's, pip's, proxies, certificates), which is taken into the root as it stands. Exit status 77: it
# can't run here, and why; 1: the README's lines did not lead where they should.
set -euo pipefail

suite=${FRESH_SUITE:-bookworm}

cannot() { echo "fresh_machine: skipped, $1" >&2; exit 77; }
failed() { echo "fresh_machine: FAILED, $1" >&2; exit 1; }
say() { echo "== $*"; }
size_mb() { du -sm "${mounted[@]/#/--exclude=}" "$1" | cut -f1; } # without what is of this machine

[ "$EUID" = 0 ] || cannot "it needs root to make a root folder of its own"
command -v debootstrap >/dev/null || cannot "debootstrap is not installed (apt-get install debootstrap)"

checkout=$(cd "$(dirname "$0")/../.." && pwd)

# The first Debian mirror that apt is configured with: a deb822 file or a one-line one.
mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
    sed -nE 's/^URIs:[[:space:]]*([^ ]+).*/\1/p; s/^deb (\[[^]]*\] )?([^ ]+) .*/\2/p' | grep -m1 '/debian/*$' || true)
[ -n "$mirror" ] || cannot "apt is configured with no Debian mirror"

given=${1:-}
work=${given:-$(mktemp -d /var/tmp/fresh-machine.XXXXXX)}
mkdir -p "$work"
root=$work/root
mounted=()

finish() {
    for place in "${mounted[@]}"; do umount -l "$place" || true; done
    if grep -q " $root/" /proc/mounts; then return; fi # never remove what is still mounted from outside
    rm -rf "${root:?}"
    if [ "$given" = "" ]; then rm -rf "${work:?}"; fi
}
trap finish EXIT

bind() { # what is outside at the same place inside, read-only
    [ -e "$1" ] || return 0
    if [ -d "$1" ]; then mkdir -p "$root$1"; else mkdir -p "$root$(dirname "$1")"; touch "$root$1"; fi
    mount --bind "$1" "$root$1"
    mount -o remount,bind,ro "$root$1"
    mounted=("$root$1" "${mounted[@]}")
}

certificates() { # whom this machine trusts, a proxy in front of the mirrors among them
    mkdir -p "$root/etc/ssl/certs"
    cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/" 2>/dev/null || true
}

take_configuration() {
    local file
    cp /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true
    certificates
    for file in "${PIP_CERT:-}" "${SSL_CERT_FILE:-}" "${REQUESTS_CA_BUNDLE:-}"; do
        case $file in '' | /etc/ssl/*) ;; *) bind "$file" ;; esac
    done
    rm -f "$root/etc/apt/sources.list"
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources \
        /etc/apt/apt.conf /etc/apt/apt.conf.d/* /etc/pip.conf; do
        # a source of another distribution, or one whose key is not here, would only break apt-get update
        case $file in
            *.sources | *.list) grep -q '/debian' "$file" 2>/dev/null || continue ;;
            /etc/apt/apt.conf*) grep -q '^ *Acquire::' "$file" 2>/dev/null || continue ;;
        esac
        [ -f "$file" ] && cp "$file" "$root$file"
    done
    for file in "${XDG_CONFIG_HOME:-$HOME/.config}/pip/pip.conf" "$HOME/.pip/pip.conf"; do
        [ -f "$file" ] && mkdir -p "$root/root/.config/pip" && cp "$file" "$root/root/.config/pip/pip.conf"
    done
    # folders of this machine that pip's configuration names as sources of packages; an index called simple links to
    # what lies beside it
    { cat "$root/etc/pip.conf" "$root/root/.config/pip/pip.conf" 2>/dev/null || true; env | grep '^PIP_' || true; } |
        grep -E 'find-links|index-url|FIND_LINKS|INDEX_URL' | grep -oE '(file://)?/[^ ,]+' |
        grep -vE '^//' | sed -E 's#^file://##; s#/simple/?$##' | sort -u >"$work/folders" || true
    local folder
    while read -r folder; do if [ -d "$folder" ]; then bind "$folder"; fi; done <"$work/folders"
}

inside() { # run a command in the root, with nothing of this environment but what says where packages come from
    local kept=()
    while IFS= read -r setting; do kept+=("$setting"); done < <(
        env | grep -iE '^(PIP_[A-Z_]+|(https?|no|all|ftp)_proxy|SSL_CERT_FILE|SSL_CERT_DIR|REQUESTS_CA_BUNDLE)=' || true
    )
    chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive "${kept[@]}" bash -c "$1"
}

readme_packages() { sed -nE 's/^\$ sudo apt-get install //p' "$checkout/README.md" | head -1; }

say "A bare Debian ($suite)"
begun=$SECONDS
debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$work/debootstrap.log" 2>&1 ||
    cannot "debootstrap can't make a root here: $(tail -1 "$work/debootstrap.log")"
mkdir -p "$root/proc" "$root/dev"
mount -t proc proc "$root/proc" && mounted=("$root/proc" "${mounted[@]}")
mount --bind /dev "$root/dev" && mounted=("$root/dev" "${mounted[@]}")
take_configuration
say "made in $((SECONDS - begun)) s, $(size_mb "$root") MB; it has $(inside 'dpkg -l | grep -c ^ii') packages"

packages=$(readme_packages)
[ -n "$packages" ] || failed "the README has no line of system packages"
say "\$ apt-get install $packages"
begun=$SECONDS
inside "apt-get update -qq && apt-get install -qq --no-install-recommends -y $packages" >"$work/apt.log" 2>&1 ||
    { tail -5 "$work/apt.log"; failed "apt-get could not install the README's packages"; }
certificates # the package has made its own list
say "installed in $((SECONDS - begun)) s, $(size_mb "$root") MB in all"

say "\$ git clone ... && cd mneme"
bind "$checkout"
common=$(git -C "$checkout" rev-parse --path-format=absolute --git-common-dir)
bind "$common"
inside "git config --global --add safe.directory '*' && git clone -q '$checkout' /root/mneme" ||
    failed "the checkout can't be cloned"

asked='My name is Olena and I keep bees. Please answer in one sentence.'

without_library() {
    say "\$ make chat, without libgomp1"
    inside "cd /root/mneme && make local" >"$work/install.log" 2>&1 ||
        { tail -5 "$work/install.log"; failed "make local did not work"; }
    inside 'dpkg --remove --force-depends libgomp1' >/dev/null 2>&1 || failed "libgomp1 can't be removed"
    local status=0 fetched
    inside "cd /root/mneme && .venv/bin/mneme model pull --if-needed" >"$work/lacking.log" 2>&1 || status=$?
    cat "$work/lacking.log"
    [ "$status" = 1 ] || failed "mneme model pull ended with exit status $status instead of 1"
    grep -q 'run apt-get install libgomp1, then try again' "$work/lacking.log" || failed "the remedy is not said"
    inside 'rm -rf /root/mneme/.venv' # make is to say so before it installs anything
    status=0
    inside "cd /root/mneme && echo hello | make chat" >"$work/lacking-make.log" 2>&1 || status=$?
    cat "$work/lacking-make.log"
    [ "$status" != 0 ] || failed "make chat says that all is well"
    grep -q "run 'apt-get install libgomp1', then try again" "$work/lacking-make.log" || failed "make says no remedy"
    inside 'test ! -e /root/mneme/.venv' || failed "packages were installed all the same"
    fetched=$(inside 'find /root/.cache/mneme /root/.local/share/mneme -type f -size +100k 2>/dev/null | wc -l')
    [ "$fetched" = 0 ] || failed "$fetched files were fetched all the same"
    say "exit status 1 (make: $status), nothing fetched"
    inside 'apt-get install -qq -y libgomp1' >/dev/null 2>&1 || failed "libgomp1 can't be put back"
}

with_everything() {
    say "\$ make chat"
    local begun=$SECONDS before after seconds
    before=$(size_mb "$root")
    inside "cd /root/mneme && printf '%s\n' '$asked' | make chat" >"$work/answer.log" 2>"$work/chat.log" ||
        { tail -5 "$work/chat.log" "$work/answer.log"; failed "make chat did not lead to an answer"; }
    after=$(size_mb "$root")
    grep '^Installing' "$work/chat.log" || failed "make chat does not say that it installs"
    say "asked: $asked"
    say "answered: $(grep -v '^make' "$work/answer.log" | head -5)"
    grep -qiE 'olena|bee' "$work/answer.log" || failed "this is no answer to what was asked"
    if grep -q 'No model answers' "$work/answer.log"; then failed "no model answered"; fi
    seconds=$((SECONDS - begun))
    say "make chat: $((seconds / 60)) min $((seconds % 60)) s to the answer," \
        "$((after - before)) MB more on the disk (packages $(size_mb "$root/root/mneme/.venv")," \
        "model $(size_mb "$root/root/.cache/mneme/models")), $after MB in all"
}

without_library
with_everything
say "The README's lines lead to an answer."
