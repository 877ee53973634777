#!/usr/bin/env bash
# Removes the service and the program. What the bots remember, their settings and backups stay, but for --purge.
#   sudo deploy/uninstall.sh
#   sudo deploy/uninstall.sh --purge [--yes]      that, too, after asking
set -euo pipefail

die() {
    printf 'uninstall.sh: %s\n' "$*" >&2
    exit 1
}

# the comment at the top of this file
show_help() {
    sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p;}' "$0"
    exit 0
}

purge=false
sure=false
for argument in "$@"; do
    case "$argument" in
    -h | --help) show_help ;;
    --purge) purge=true ;;
    --yes) sure=true ;;
    *) die "$argument is not known: see deploy/uninstall.sh --help." ;;
    esac
done
[ "$(id -u)" -eq 0 ] || die "Only root can remove a service: use sudo."
if $purge && ! $sure; then
    [ -t 0 ] || die "--purge deletes everything that is remembered: add --yes if that is meant."
    read -r -p "Delete everything that is remembered, the settings and all backups? Type yes: " answer
    [ "$answer" = yes ] || die "Nothing was removed."
fi

if [ -d /run/systemd/system ]; then
    for unit in $(systemctl list-unit-files --no-legend 'mneme*' | awk '{print $1}' | grep -v '@\.') \
        $(systemctl list-units --all --plain --no-legend 'mneme*' | awk '{print $1}'); do
        systemctl disable --quiet --now "$unit" 2>/dev/null || true
    done
fi
rm -rf /etc/systemd/system/mneme.service.d /etc/systemd/system/mneme@*.service.d /opt/mneme /var/cache/mneme
rm -f /etc/systemd/system/mneme{,@,-backup,-backup@}.{service,timer} /usr/local/bin/mneme
find /etc/systemd/system -name 'mneme*' -type l -delete
[ ! -d /run/systemd/system ] || systemctl daemon-reload

if $purge; then
    rm -rf /etc/mneme /var/lib/mneme /var/lib/mneme-*
    if id mneme >/dev/null 2>&1; then userdel mneme; fi
    echo "Mneme is gone, with everything it knew."
else
    echo "Mneme is removed. /etc/mneme, /var/lib/mneme* and the backups in /var/lib/mneme-backups are still there."
fi
