# Makes a root of its own, as a container or a hardened unit has it, and runs a command there: read-only, an empty /tmp, no
# homes, hidden processes of other users. Runs as root in a mount namespace: unshare --mount sh enter.sh COMMAND…
# STAGE: a folder for the new root. BASE: of the Python. VENV, DATA, SOCKETS: what lies at /opt/callboard, DATA_AT and
# /run/postgresql. RUN_UID, RUN_GID: who runs the command. SETUP: commands that root runs before.
set -e
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs "$STAGE"
cd "$STAGE"
for path in bin sbin lib lib32 lib64 libx32 usr dev sys; do
    if [ -L "/$path" ]; then
        cp -P "/$path" .
    elif [ -d "/$path" ]; then
        mkdir "$path"
        mount --rbind "/$path" "$path"
    fi
done
mkdir -p proc run/postgresql tmp opt/callboard home ".$DATA_AT" old
[ "$RUN_UID" = 0 ] || mkdir -p ".$BASE"
cp -a /etc .
mount -t proc -o hidepid=invisible proc proc
mount -t tmpfs -o mode=1777 tmpfs tmp
if [ "$RUN_UID" = 0 ]; then # a build: pip may be configured to look there
    mkdir -p root
    mount --rbind /root root
    for path in /opt/*; do
        mkdir -p ".$path"
        [ ! -d "$path" ] || mount --bind "$path" ".$path"
    done
elif [ "${BASE#/usr}" = "$BASE" ]; then
    mount --bind "$BASE" ".$BASE"
fi
mount --bind "$VENV" opt/callboard
mount --bind "$SOCKETS" run/postgresql
[ -z "$DATA" ] || mount --bind "$DATA" ".$DATA_AT"
pivot_root . old
cd /
umount -l /old
eval "$SETUP"
[ "$RUN_UID" = 0 ] || mount -o remount,ro /
mount -o "remount,bind,${VENV_MODE:-ro}" /opt/callboard
[ -z "$DATA" ] || mount -o "remount,bind,${DATA_MODE:-rw}" "$DATA_AT"
cd /opt/callboard
[ "$RUN_UID" != 0 ] || exec "$@"
exec setpriv --reuid "$RUN_UID" --regid "$RUN_GID" --clear-groups --no-new-privs --bounding-set -all --inh-caps -all "$@"
