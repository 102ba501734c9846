# What packaging/rpm.sh puts where. rpm is Debian's package of that name; where it is not installed, all of this is skipped.
load helper
load packages

setup_file() {
  [ -z "${TEST_SANITIZER:-}" ] && command -v rpmbuild >/dev/null || return 0
  mkdir "$BATS_FILE_TMPDIR"/{first,alone}
  # Without the licenses that lie beside that of a release.
  cp "$RLOCK" "$BATS_FILE_TMPDIR/alone/rlock"
  rpm=$(SOURCE_DATE_EPOCH=1700000000 package "$BATS_FILE_TMPDIR/first")
  export rpm
}

setup() {
  begin_test
  not_sanitized 'is not packed'
  [ -n "${rpm:-}" ] || skip 'there is no rpmbuild; packaging/install-deps.sh package installs it'
}

# package DIRECTORY: makes the package of the binary under test there, and prints its path.
package() { bash "$BATS_TEST_DIRNAME/../packaging/rpm.sh" --binary "$BATS_FILE_TMPDIR/alone/rlock" --output "$1"; }

@test "the rpm holds what is installed, and owns no directory but its own" {
  [ "$rpm" = "$BATS_FILE_TMPDIR/first/rlock-$(cat "$root/VERSION")-1.$(uname -m).rpm" ]
  rpm -qp --queryformat '[%{FILEMODES:perms} %{FILEUSERNAME} %{FILEGROUPNAME} %{FILENAMES}\n]' "$rpm" >contents
  {
    data usr | sed '/LICENSE$/d; s|/man/.*|&.gz|; s/^644/-rw-r--r--/; s/^755/-rwxr-xr-x/; s/^777/lrwxrwxrwx/; s| | root root /|'
    echo '-rwxr-xr-x root root /usr/bin/rlock'
    printf -- '-rw-r--r-- root root /usr/share/licenses/rlock/%s\n' LICENSE copyright
  } | LC_ALL=C sort -k 4 | diff - <(grep -v ^d contents | LC_ALL=C sort -k 4)
  run ! grep -vE '^drwxr-xr-x root root /usr/share/(doc|licenses)/rlock' <(grep ^d contents)
  [ "$(rpm -qp --queryformat '%{NAME} %{ARCH}' "$rpm")" = "rlock $(uname -m)" ]
  [ "$(rpm -qp --recommends "$rpm")" = ca-certificates ]
  # It needs nothing but an rpm that understands it, and runs nothing.
  run ! grep -v '^rpmlib(' <(rpm -qp --requires "$rpm")
  [ -z "$(rpm -qp --scripts "$rpm")" ]
}

@test "packed twice, the rpm has the same bytes, of whoever packs it" {
  mkdir again
  echo '%_buildhost elsewhere' >.rpmmacros
  cmp "$rpm" "$(umask 077 && SOURCE_DATE_EPOCH=1700000000 TZ=Asia/Tokyo HOME=$PWD package again)"
  [ "$(rpm -qp --queryformat '%{BUILDTIME} [%{FILEMTIMES}\n]' "$rpm" | tr ' ' '\n' | sort -u)" = 1700000000 ]
}

@test "rpm installs it into a root, where it runs, finds it unchanged, and removes it" {
  [ "$EUID" = 0 ] || skip 'needs root'
  mkdir root
  into_root() { rpm --root "$PWD/root" --dbpath /var/lib/rpm "$@"; }
  into_root --install "$rpm"
  [ "$(into_root --query rlock)" = "rlock-$(cat "$root/VERSION")-1.$(uname -m)" ]
  into_root --verify rlock
  chroot root /usr/bin/rlock --version | grep -qx "rlock $(cat "$root/VERSION")"
  links_lead_somewhere root
  into_root --erase rlock
  [ -z "$(find root -name '*rlock*')" ]
}

@test "rpm.sh says what it cannot pack" {
  printf 'no program' >file
  run -1 bash "$root/packaging/rpm.sh" --binary file
  [ "$output" = "rpm: $PWD/file is not a program for x86_64 or aarch64" ]
  run -64 bash "$root/packaging/rpm.sh" --what
}
