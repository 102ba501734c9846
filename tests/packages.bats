# What `cmake --install` and packaging/debian.sh put where, and what quickstart prints. In a bare Debian packaging/try-deb.sh
# installs the package, and packaging/try-bare.sh runs quickstart.
load helper
load packages

# A configuration of its own: the list of what was installed, which uninstall reads, must not replace the user's.
setup_file() {
  cmake -S "$BATS_TEST_DIRNAME/.." -B "$BATS_FILE_TMPDIR/build" -G Ninja -DCMAKE_BUILD_TYPE=Release
  cp "$RLOCK" "$BATS_FILE_TMPDIR/build/rlock"
  if [ -z "${TEST_SANITIZER:-}" ] && command -v dpkg-deb >/dev/null; then
    mkdir "$BATS_FILE_TMPDIR/first"
    deb=$(SOURCE_DATE_EPOCH=1700000000 package "$BATS_FILE_TMPDIR/first")
    export deb
  fi
}

# package DIRECTORY: makes the package of the binary under test there, and prints its path.
package() { bash "$BATS_TEST_DIRNAME/../packaging/debian.sh" --binary "$RLOCK" --output "$1"; }
needs_package() {
  not_sanitized 'is not packed'
  [ -n "${deb:-}" ] || skip 'there is no dpkg-deb'
}

@test "cmake --install installs the program, the manual, completions, documents and examples, wherever it is told to" {
  DESTDIR=$PWD/staged cmake --install "$BATS_FILE_TMPDIR/build"
  diff <(data usr/local; echo '755 usr/local/bin/rlock') <(listed staged | sed '/bin.rlock$/d'; listed staged | grep 'bin/rlock$')
  staged/usr/local/bin/rlock --version
  links_lead_somewhere staged
  [ ! -e staged/etc ]
  cmake --install "$BATS_FILE_TMPDIR/build" --prefix "$PWD/a prefix"
  diff <(data .) <(listed 'a prefix' | sed '/bin.rlock$/d; s| | ./|')
}

@test "uninstall removes all that was installed, and nothing else" {
  cp -r "$BATS_FILE_TMPDIR/build" build
  sed -i "s|$BATS_FILE_TMPDIR/build|$PWD/build|g" build/*.cmake
  cmake --install build --prefix "$PWD/there/rlock"
  touch there/rlock/bin/other there/rlock/share/doc/rlock/notes
  cmake -P build/uninstall.cmake
  [ "$(cd there && find . -type f | sort | tr '\n' ' ')" = './rlock/bin/other ./rlock/share/doc/rlock/notes ' ]
  [ ! -e there/rlock/share/doc/rlock/examples ]
  cmake --install build --prefix "$PWD/a[b]/rlock"
  touch 'a[b]/rlock/notes'
  cmake -P build/uninstall.cmake
  [ "$(find 'a[b]' -type f)" = 'a[b]/rlock/notes' ]
  cmake --install build --prefix "$PWD/a[b/rlock"
  cmake -P build/uninstall.cmake
  [ -z "$(find 'a[b' -type f -o -name rlock)" ]
  # CMake writes a ; as the end of a name: what has the first part for its own is not ours.
  cmake --install build --prefix "$PWD/mine;b"
  touch mine
  run cmake -P build/uninstall.cmake
  [ "$status" != 0 ]
  [ -e mine ]
  [ -e 'mine;b/bin/rlock' ]
  DESTDIR=$PWD/destination cmake --install build
  DESTDIR=$PWD/destination cmake -P build/uninstall.cmake
  [ -z "$(find destination -type f -o -name rlock)" ]
  run cmake -P build/uninstall.cmake
  [ "$status" != 0 ]
  [[ $output == *'nothing to uninstall'* ]]
}

@test "the package holds what is installed, where Debian looks for it" {
  needs_package
  [ "$deb" = "$BATS_FILE_TMPDIR/first/rlock_$(cat "$root/VERSION")_$(dpkg --print-architecture).deb" ]
  dpkg-deb --contents "$deb" | grep -v '/$' | awk '{ print $1, $2, substr($6, 3) }' >contents
  {
    data usr | sed 's|zsh/site-functions|zsh/vendor-completions|; /LICENSE$/d; s|CHANGELOG.md|changelog.gz|
      s|/man/.*|&.gz|; s/^644/-rw-r--r--/; s/^755/-rwxr-xr-x/; s/^777/lrwxrwxrwx/; s| | root/root |'
    echo '-rwxr-xr-x root/root usr/bin/rlock'
    printf -- '-rw-r--r-- root/root usr/share/%s\n' doc/rlock/copyright lintian/overrides/rlock
  } | LC_ALL=C sort -k 3 | diff - <(LC_ALL=C sort -k 3 contents)
  # Only root can make or change what is in the directories.
  run ! grep -v '^drwxr-xr-x root/root' <(dpkg-deb --contents "$deb" | grep '/$')
  dpkg-deb --extract "$deb" unpacked
  unpacked/usr/bin/rlock --version
  links_lead_somewhere unpacked
  (cd unpacked && md5sum --check --quiet <(dpkg-deb --info "$deb" md5sums))
  zcat unpacked/usr/share/doc/rlock/changelog.gz | grep -q "^rlock ($(cat "$root/VERSION")) "
  grep -qE '^Files: linked/(glibc|musl)' unpacked/usr/share/doc/rlock/copyright
}

@test "a given binary is packed without compilers, libraries, and the hidden files of the tree" {
  needs_package
  local program
  mkdir bin tree
  for program in cc gcc c++ g++ clang clang++ clang-19 clang-tidy-19 clang-format-19 ninja pkg-config; do
    printf '#!/bin/sh\nexit 1\n' >"bin/$program"
    chmod 755 "bin/$program"
  done
  tar -C "$root" -c --exclude='./.*' --exclude=./build . | tar -C tree -x
  [ ! -e tree/.clang-tidy ]
  PATH=$PWD/bin:$PATH CC=$PWD/bin/cc CXX=$PWD/bin/c++ SOURCE_DATE_EPOCH=1700000000 \
    bash tree/packaging/debian.sh --binary "$RLOCK" --output .
  cmp "$deb" "${deb##*/}"
  # What can be linted is not built without its rules, which are hidden.
  cmake -S tree -B configured -G Ninja -DCMAKE_BUILD_TYPE=Release
}

@test "the list of what is inside a release names each source with its version and sum" {
  printf '%s\n' 'openssl 3.5.7-1~deb13u3 trixie openssl_3.5.7.orig.tar.gz 53 SHA256:aa' \
    'openssl 3.5.7-1~deb13u3 trixie openssl_3.5.7-1~deb13u3.debian.tar.xz 14 SHA256:bb' \
    'cli11 2.1.2+ds-1 bookworm cli11_2.1.2+ds.orig.tar.xz 20 SHA256:cc' 'ziglang==0.17.1 --hash=sha256:dd' \
    'musl 1.2.5 ziglang' >sources
  python3 "$root/packaging/sbom.py" 1.0 1700000000 <sources >bom
  jq -e '.bomFormat == "CycloneDX" and .metadata.component.version == "1.0" and
    ([.components[] | .name + " " + .version] == ["openssl 3.5.7", "cli11 2.1.2", "ziglang 0.17.1", "musl 1.2.5"]) and
    ([.components[].externalReferences[]?.hashes[].content] == ["aa", "bb", "cc"]) and
    (.dependencies[0].dependsOn | length) == 4' bom
  cmp bom <(python3 "$root/packaging/sbom.py" 1.0 1700000000 <sources)
}

@test "the package names its version and what it depends on, and has nothing that root would run" {
  needs_package
  field() { dpkg-deb --field "$deb" "$1"; }
  [ "$(field Package)" = rlock ]
  [ "$(field Version)" = "$(cat "$root/VERSION")" ]
  [ "$(field Architecture)" = "$(dpkg --print-architecture)" ]
  [ -z "$(field Depends)" ]
  [ "$(field Suggests)" = 'redis-server | valkey-server' ]
  mkdir control
  dpkg-deb --control "$deb" control
  [ "$(cd control && echo *)" = 'control md5sums' ]
}

# A file there that only root can read would be an error for all others.
@test "the package brings no configuration: whoever runs it first, an ordinary user too, is told of the server alone" {
  needs_package
  needs_mounts
  [ ! -e /etc/rlock.conf ] || skip 'there is an /etc/rlock.conf'
  dpkg-deb --extract "$deb" unpacked
  chmod 755 .
  # All that it has for /etc, in a mount namespace of its own.
  unshare --mount --net bash -ec '
    mount -t tmpfs none /etc/ssl 2>/dev/null || exit 99
    mkdir /etc/ssl/up /etc/ssl/work
    mount -t overlay -o lowerdir=/etc,upperdir=/etc/ssl/up,workdir=/etc/ssl/work none /etc || exit 99
    [ ! -e unpacked/etc ] || cp -a unpacked/etc/. /etc/
    mount --bind unpacked/usr/bin /mnt
    cd /
    unset XDG_CONFIG_HOME RLOCK_SERVER
    env HOME=/nonexistent setpriv --reuid 65534 --regid 65534 --clear-groups /mnt/rlock run -n --connect-timeout 1ms key -- true || echo $?
  ' >out 2>said || { [ $? != 99 ] || skip 'cannot mount'; false; }
  cat said
  [ "$(cat out)" = 69 ]
  grep -q '127.0.0.1' said
}

@test "packed twice, the package has the same bytes" {
  needs_package
  mkdir again
  cmp "$deb" "$(umask 077 && SOURCE_DATE_EPOCH=1700000000 TZ=Asia/Tokyo package again)"
  [ "$(dpkg-deb --contents "$deb" | awk '{ print $4, $5 }' | sort -u)" = "$(date -d @1700000000 '+%F %R')" ]
}

@test "root packs the files of another user with the same bytes: the time is that of the commit" {
  needs_package
  [ "$EUID" = 0 ] || skip 'needs root'
  command -v git >/dev/null || skip 'needs git'
  mkdir tree one two
  (cd "$root" && tar --create --exclude=./build --exclude=./.git .) | tar --extract --directory=tree
  git -C tree -c init.defaultBranch=main init --quiet
  git -C tree add VERSION
  GIT_COMMITTER_DATE='2020-02-02T02:02:02Z' git -C tree -c user.name=ann -c user.email=ann@example.com commit --quiet -m one
  bash tree/packaging/debian.sh --binary "$RLOCK" --output one
  chown -R 12345 tree
  bash tree/packaging/debian.sh --binary "$RLOCK" --output two
  cmp one/*.deb two/*.deb
  [ "$(TZ=UTC dpkg-deb --contents two/*.deb | awk '{ print $4, $5 }' | sort -u)" = '2020-02-02 02:02' ]
}

@test "a program that is stripped is packed byte for byte, as that of a release is" {
  needs_package
  strip --strip-unneeded --remove-section=.comment --remove-section=.note -o bare "$RLOCK"
  echo behind >>bare # which strip would leave out
  dpkg-deb --extract "$(bash "$root/packaging/debian.sh" --binary bare --output .)" unpacked
  cmp bare unpacked/usr/bin/rlock
}

@test "debian.sh says what it cannot pack" {
  needs_package
  run -1 bash "$root/packaging/debian.sh" --binary /nonexistent
  printf 'no program' >file
  run -1 bash "$root/packaging/debian.sh" --binary file
  [[ $output == *'is not a program for x86_64 or aarch64' ]]
  run -64 bash "$root/packaging/debian.sh" --what
}

@test "every line of the example configuration can be uncommented" {
  local line
  grep -E '^#[a-z[]' "$root/packaging/examples/rlock.conf" >lines
  [ "$(wc -l <lines)" -ge 5 ]
  # The lines of one option exclude each other, and what they name is not there: this is about what the file may say.
  while read -r line; do
    printf '%s\n' "${line#\#}" >one.conf
    run rlock run --config one.conf -n --connect-timeout 1ms key -- true
    [ "$status" != 64 ]
    [[ $output != *' line '* || $output == *'password-file: the file cannot be read'* ]] || { echo "$line: $output" && return 1; }
  done <lines
  run ! grep -vE '^(#|$)' "$root/packaging/examples/rlock.conf"
}

# alone COMMAND...: with a `local` server of its own, which ends with it.
alone() {
  unshare --mount --pid --fork --kill-child --mount-proc \
    sh -c 'mount -t tmpfs -o mode=755 none /run && mkdir -m 1777 /run/lock && "$@"' sh "$@" 3>&-
}

# shellcheck disable=SC2154 # bats sets stderr
@test "quickstart says what it does, and ends with commands that can be pasted" {
  [ "$RLOCK" = "$(realpath "$root")/build/release/rlock" ] || skip 'another build is tested'
  needs_mounts
  RLOCK_SERVER=redis://192.0.2.1 run --separate-stderr -0 alone bash "$root/packaging/quickstart.sh"
  printf '%s\n' "$output" >printed
  [[ $stderr == 'quickstart: building '*'quickstart: built in '* ]]
  ((${#stderr_lines[@]} <= 6))
  sed -n '/^It works/,/^To install/p' printed | grep '^  ' >commands
  [ "$(wc -l <commands)" = 4 ]
  # A zsh does not take comments there.
  run ! grep '#' commands
  # 20 seconds are for people.
  sed -i 's/sleep 20/sleep 2/' commands
  for shell in bash zsh; do
    command -v "$shell" || continue
    run --separate-stderr -0 alone env -u RLOCK_SERVER PATH=/usr/bin:/bin "$shell" -e commands
    [[ $output == *demo*held*'my turn' ]]
  done
  sed -n '/^To install/,$p' printed | grep -oE '[^ ]+/(debian|install-deps)\.sh' >scripts
  [ "$(wc -l <scripts)" = 2 ]
  while read -r script; do [ -e "$script" ]; done <scripts
}
